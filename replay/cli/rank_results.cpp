// SPDX-License-Identifier: Apache-2.0
#include "cli/rank_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>

#include "cli/interval_exchange.hpp"
#include "cli/rank_clients.hpp"
#include "engine/run_merge.hpp"
#include "inputs/input.hpp"
#include "measure/bound.hpp"
#include "trace/bytes.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

constexpr const char* kDamaged = "damaged results from another rank";

constexpr uint64_t ImageSummary::*kImageSums[] = {&ImageSummary::directories, &ImageSummary::files,     &ImageSummary::symlinks,
                                                  &ImageSummary::bytes,       &ImageSummary::apparent,  &ImageSummary::hard_links,
                                                  &ImageSummary::special,     &ImageSummary::open_files};
constexpr uint64_t PrepareResult::*kPreparedSums[] = {&PrepareResult::operations, &PrepareResult::kept, &PrepareResult::bytes};

// Returns the first rank that reads the same clock as `row`: on its host, with the offset that their errors allow.
const RankRow& same_clock(const std::vector<RankRow>& rows, const RankRow& row) {
  return *std::ranges::find_if(rows, [&](const RankRow& first) {
    const ClockOffset &a = first.clock.before, &b = row.clock.before;
    return first.rank == row.rank || (first.host == row.host && std::abs(a.offset - b.offset) <= a.error + b.error);
  });
}

// Collects times since the start of each rank's run, as times since the common start. They become as long as the difference of
// the clocks is uncertain: by its error and its change during the run. Ranks that share the root's clock add nothing.
void collect_noted(RunResult& all, const std::vector<RankRow>& rows) {
  all.noted.clear();
  for (const RankRow& row : rows) {
    const RankClock& clock = same_clock(rows, row).clock;
    const int64_t moved = row.began + row.clock.before.offset - clock.before.offset,
                  error = clock.error() + std::abs(clock.drift());
    for (const NotedTimes& noted : row.result.noted)
      all.noted.push_back({noted.seq, noted.issued + moved - error, noted.ended + moved + error});
  }
}

int64_t began_late(const RunResult& result, const RankClock& clock) { return result.began ? result.began - clock.start : 0; }

void save_offset(ByteWriter& out, const ClockOffset& compared) {
  out.svarint(compared.offset);
  out.svarint(compared.error);
}

ClockOffset load_offset(ByteReader& in) {
  ClockOffset compared;
  compared.offset = in.svarint();
  compared.error = in.svarint();
  return compared;
}

// Serializes the results of a rank's round. Its intervals were sent before.
std::string save_part(const RankShare& share, const Report& report, const RankClock& clock, unsigned ranks) {
  ByteWriter out;
  save_result(out, report.result);
  out.svarint(began_late(report.result, clock));
  save_offset(out, clock.before);
  out.text(share.part());
  out.text(report.aftermath);
  out.u8(report.interrupted);
  for (auto sum : kImageSums) out.varint(share.shares_tree() ? 0 : report.image.*sum);  // one tree: only the root counts it
  for (auto sum : kPreparedSums) out.varint(report.prepared.*sum);
  out.varint(uint64_t(report.prepared.elapsed));
  out.varint(report.counters.size());
  for (const auto& [name, value] : report.counters) {
    out.text(name);
    out.varint(value);
  }
  out.varint(report.outdated_copies.size());
  for (const std::string& name : report.outdated_copies) out.text(name);
  out.text(RankClients(report, ranks).save());
  return std::string(out.view());
}

RankRow load_row(ByteReader& in, unsigned rank, const std::string& host) {
  RankRow row{.rank = rank, .host = host, .result = load_result(in), .clock = {}, .began = in.svarint()};
  row.clock.before = load_offset(in);
  return row;
}

// Compares the clocks again, after all results have arrived. A rank that is lost meanwhile spoils only this comparison.
void compare_after(Cluster& cluster, std::vector<RankRow>& rows) {
  ByteWriter mine;
  save_offset(mine, cluster.compare_clocks());
  const std::vector<std::string> all = cluster.gather(mine.view());
  if (cluster.root()) rows[0].clock.after = rows[0].clock.before;
  for (unsigned rank = 1; rank < all.size(); ++rank) {
    ByteReader in(all[rank]);
    rows[rank].clock.after = load_offset(in);
    if (!in.ok() || in.left() != 0) throw std::runtime_error(kDamaged);
  }
}

void add_counter(Report& report, const std::string& name, uint64_t value) {
  auto same =
      std::find_if(report.counters.begin(), report.counters.end(), [&](const auto& entry) { return entry.first == name; });
  if (same == report.counters.end())
    report.counters.emplace_back(name, value);
  else
    same->second += value;
}

}  // namespace

std::vector<Facts> RanksSection::facts_of_ranks() const {
  std::vector<Facts> all;
  for (const RankRow& row : rows_) {
    const RunResult& r = row.result;
    all.push_back({{"rank", int64_t(row.rank)},
                   {"host", row.host},
                   {"streams", int64_t(r.streams)},
                   {"issued", int64_t(r.issued())},
                   {"failed", int64_t(r.failed())},
                   {"differed", int64_t(r.differed())},
                   {"bytes_read", int64_t(r.bytes_read)},
                   {"bytes_written", int64_t(r.bytes_written)},
                   {"elapsed_ns", r.elapsed},
                   {"achieved_per_s", r.achieved()},
                   {"response_p50_ns", r.response.quantile(0.5)},
                   {"response_p99_ns", r.response.quantile(0.99)},
                   {"lateness_max_ns", r.lateness.max()},
                   {"start_ns", row.began},
                   {"clock_offset_ns", row.clock.before.offset},
                   {"clock_error_ns", row.clock.error()},
                   {"clock_drift_ns", row.clock.drift()}});
  }
  return all;
}

int64_t RanksSection::start_spread() const {
  const auto [first, last] =
      std::minmax_element(rows_.begin(), rows_.end(), [](const RankRow& a, const RankRow& b) { return a.began < b.began; });
  return last->began - first->began;
}

std::string RanksSection::text() const {
  std::set<std::string> hosts;
  for (const RankRow& row : rows_) hosts.insert(row.host);
  std::string text = fmt::format("\n{:<10} {} on {}\n", "ranks", rows_.size(),
                                 hosts.size() == 1 ? *hosts.begin() : fmt::format("{} hosts", hosts.size()));
  int64_t error = 0, drift = 0;
  bool compared_again = true;
  for (const RankRow& row : rows_) {
    error = std::max(error, row.clock.error());
    compared_again = compared_again && row.clock.after;
    if (row.clock.drifted()) drift = std::max(drift, std::abs(row.clock.drift()));
  }
  const std::string drifted = !compared_again ? "not compared again at the end of the run"
                              : drift         ? "drift up to " + format_duration(drift)
                                              : "no drift measured";
  text += fmt::format("{:<10} compared to within {}, {}; the ranks began within {}\n", "clocks", format_duration(error), drifted,
                      format_duration(start_spread()));
  const auto latest = std::max_element(rows_.begin(), rows_.end(), [](const RankRow& a, const RankRow& b) {
    return a.result.lateness.max() < b.result.lateness.max();
  });
  if (const int64_t late = latest->result.lateness.max(); late > 0)
    text += fmt::format("{:<10} {} late: an operation of rank {} on {}\n", "latest", format_duration(late), latest->rank,
                        latest->host);
  for (const RankRow& row : rows_) {
    const RunResult& r = row.result;
    text += fmt::format("{:<10} {} {}, {} failed, {:.1f}/s, response p99 {}, late by up to {}; {}\n",
                        fmt::format("rank {}", row.rank), format_count(r.issued()), issued_, format_count(r.failed()),
                        r.achieved(), quantile_text(r.response, r.open, 0.99), format_duration(r.lateness.max()), row.host);
  }
  return text + gaps_.text(hosts_);
}

// Returns an array with an object for each row.
static nlohmann::json array_of(const std::vector<Facts>& rows) {
  nlohmann::json all = nlohmann::json::array();
  for (const Facts& facts : rows) {
    nlohmann::json& row = all.emplace_back();
    for (const auto& [name, value] : facts) std::visit([&, &key = name](const auto& v) { row[key] = v; }, value);
  }
  return all;
}

void RanksSection::json(nlohmann::json& document) const {
  document["ranks"] = array_of(facts_of_ranks());
  document["gaps"] = array_of(gaps_.facts(hosts_));
  document["late_parts"] = gaps_.late;
  document["operations_in_no_interval"] = gaps_.nowhere;
  document["operations_of_lost_ranks"] = gaps_.operations_of_lost(left());
  document["ranks_start_spread_ns"] = start_spread();
}

void RanksSection::database(ResultsDatabase& results) const {
  for (const Facts& facts : facts_of_ranks()) results.add("ranks", facts);
  for (const Facts& facts : gaps_.facts(hosts_)) results.add("gaps", facts);
}

std::vector<bool> RanksSection::left() const {
  std::vector<bool> left(hosts_.size());
  for (const RankRow& row : rows_) left[row.rank] = true;
  return left;
}

// Adds the results of the other ranks that are left to `report`. Returns a row for each of these ranks.
static std::vector<RankRow> merge_parts(Cluster& cluster, const std::vector<std::optional<std::string>>& parts, RankShare& share,
                                        Report& report, RankClients& clients) {
  std::vector<RankRow> rows;
  const bool kernel = report.target.starts_with("file:");  // the kernel counts requests for all processes of a host
  std::set<std::string> counted = {cluster.hosts()[0]};
  for (unsigned rank = 1; rank < parts.size(); ++rank) {
    if (!parts[rank]) continue;
    ByteReader in(*parts[rank]);
    rows.push_back(load_row(in, rank, cluster.hosts()[rank]));
    const bool same_wire = !counted.insert(cluster.hosts()[rank]).second && kernel;
    const std::string_view part = in.text(), aftermath = in.text();
    report.interrupted = in.u8() != 0 || report.interrupted;
    for (auto sum : kImageSums) report.image.*sum += in.varint();
    for (auto sum : kPreparedSums) report.prepared.*sum += in.varint();
    report.prepared.elapsed = std::max(report.prepared.elapsed, int64_t(in.varint()));
    for (uint64_t counters = in.varint(); in.ok() && counters > 0; --counters) {
      const std::string name(in.text());
      add_counter(report, name, in.varint());
    }
    for (uint64_t copies = in.varint(); in.ok() && copies > 0; --copies) report.outdated_copies.emplace_back(in.text());
    if (!clients.merge(in.text(), rank) || !in.ok() || in.left() != 0) throw std::runtime_error(kDamaged);
    share.add_part(part, same_wire);
    if (report.aftermath.empty() && !aftermath.empty())
      report.aftermath = fmt::format("{}: {}", cluster.name_of(rank), aftermath);
    merge_result(report.result, rows.back().result, report.options);
  }
  return rows;
}

static void add_aftermath(Report& report, const std::string& lost) {
  report.aftermath = report.aftermath.empty() ? lost : lost + "; " + report.aftermath;
}

bool gather_results(Cluster& cluster, Input& input, Report& report, IntervalExchange* intervals, RankClock clock) {
  const auto [parts, lost] = cluster.gather_left(save_part(input, report, clock, cluster.size()));
  std::vector<RankRow> rows = {{.rank = 0,
                                .host = cluster.hosts()[0],
                                .result = report.result,
                                .clock = clock,
                                .began = began_late(report.result, clock)}};
  bool whole = lost.empty();
  RankClients clients(report, cluster.size());
  if (cluster.root()) std::ranges::move(merge_parts(cluster, parts, input, report, clients), std::back_inserter(rows));
  if (!whole) add_aftermath(report, fmt::format("{}: results are those of {} of {} ranks", lost, rows.size(), cluster.size()));
  try {
    if (whole) compare_after(cluster, rows);
  } catch (const LostRank& e) {
    if (!cluster.root()) throw;
    add_aftermath(report, fmt::format("{}, after sending results", e.what()));
    whole = false;
  }
  if (!cluster.root()) return true;
  collect_noted(report.result, rows);
  report.series = intervals ? intervals->take_series() : TimeSeries();
  input.describe(report);
  clients.give_to(report);
  IntervalGaps gaps;
  if (intervals) {
    gaps = intervals->gaps();
    for (const RankRow& row : rows) gaps.compare(row.rank, row.result.service.count());
  }
  report.sections.push_back(std::make_shared<RanksSection>(std::move(rows), report.issued, std::move(gaps), cluster.hosts()));
  return whole;
}

}  // namespace fsr
