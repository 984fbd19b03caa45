// SPDX-License-Identifier: Apache-2.0
#include "nfstest_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace fsr::fsbench {

using namespace nfstest;

namespace {

void complain(const std::string& text) {
  fflush(stdout);
  fmt::print(stderr, "fsbench nfstest: {}\n", text);
}

// True if no READ of any rank reached a server.
bool is_cached(const StageResult& result) {
  return !result.writes && std::all_of(result.reports.begin(), result.reports.end(),
                                       [](const StageReport& report) { return report.counted && report.wire_reads == 0; });
}

}  // namespace

NfstestPrinter::NfstestPrinter(const Settings& settings, const Cluster& cluster, const NfstestOutput& options)
    : settings_(settings),
      cluster_(cluster),
      options_(options),
      layout_(settings, cluster.size(), options.compat),
      kept_(options.results) {
  if (settings.output.empty()) return;
  file_ = fopen(settings.output.c_str(), "we");
  if (!file_) throw std::runtime_error(settings.output + ": " + strerror(errno));
}

NfstestPrinter::~NfstestPrinter() {
  if (file_) fclose(file_);
}

void NfstestPrinter::print(const std::string& text) {
  if (options_.json) return;
  fputs(text.c_str(), file_ ? file_ : stdout);
  fflush(file_ ? file_ : stdout);
}

void NfstestPrinter::begin(const std::vector<uint64_t>& skipped) {
  skipped_ = skipped;
  const char* unit = settings_.unit_name();
  if (!skipped.empty())
    complain(fmt::format("left out for the quota of {}{}: {} size{}, from {}{}", settings_.space, unit, skipped.size(),
                         skipped.size() == 1 ? "" : "s", skipped[0], unit));
  if (settings_.verbose) print(layout_.header(cluster_.hosts()));
}

void NfstestPrinter::starting(uint64_t iteration, uint64_t size) {
  const std::string text = layout_.starting(iteration, size);
  if (settings_.verbose) print(text);
  if (!file_ || options_.json) return;
  fputs(text.c_str(), stdout);
  fflush(stdout);
}

void NfstestPrinter::ended(const StageResult& result) {
  print(layout_.stage(result.writes, result.size, result.seconds));
  if (settings_.verbose && !result.writes) print("\n");
  const double rate = layout_.rate(result.size, result.seconds);
  const bool cached = is_cached(result);
  if (Best& best = best_[result.writes]; rate > best.rate && !cached) best = {result.size, rate};
  if (measured_.size() <= result.iteration) measured_.resize(result.iteration + 1);
  if (!cached && rate > 0)
    measured_[result.iteration].push_back(
        {.name = fmt::format("{} files of {}{}", result.writes ? "write" : "read", result.size, settings_.unit_name()),
         .unit = "bytes/s",
         .rate = rate * double(settings_.unit_bytes())});
  report_wrong(result);
  if (cached) report_cached(result);
  if (options_.json) stages_.push_back(json_of(result));
}

void NfstestPrinter::report_wrong(const StageResult& result) {
  for (unsigned rank = 0; rank < result.reports.size(); ++rank) {
    const std::string who = cluster_.size() == 1 ? "" : cluster_.name_of(rank) + ": ";
    for (const std::string& place : result.reports[rank].shown)
      if (shown_++ < StageReport::kMostShown) complain(who + place);
    wrong_ += result.reports[rank].wrong;
  }
}

void NfstestPrinter::report_cached(const StageResult& result) {
  ++cached_;
  complain(fmt::format(
      "no READ reached the server for files of {}{}: this read rate is that of the client's cache and does not count as best",
      result.size, settings_.unit_name()));
}

nlohmann::json NfstestPrinter::json_of(const StageResult& result) const {
  Tally counts;
  nlohmann::json ranks = nlohmann::json::array();
  double fastest = result.seconds, slowest = 0;
  for (unsigned rank = 0; rank < result.reports.size(); ++rank) {
    const StageReport& report = result.reports[rank];
    const double seconds = double(report.took) / 1e9;
    fastest = std::min(fastest, seconds);
    slowest = std::max(slowest, seconds);
    counts.merge(report.counts);
    nlohmann::json row = {{"rank", rank},
                          {"host", cluster_.hosts()[rank]},
                          {"seconds", seconds},
                          {"bytes", report.bytes},
                          {"wrong_bytes", report.wrong}};
    if (report.counted && !result.writes) row["wire_reads"] = report.wire_reads;
    ranks.push_back(row);
  }
  nlohmann::json latency = nlohmann::json::object();
  for (Row row = 0; row < counts.rows(); ++row) {
    const KindCounters& cell = counts[row];
    if (cell.count + cell.failed == 0) continue;
    const Histogram& h = cell.service;
    auto us = [&](double q) { return double(h.quantile(q)) / 1e3; };
    latency[kRowNames[row]] = {
        {"count", cell.count}, {"failed", cell.failed}, {"mean_us", h.mean() / 1e3},      {"p50_us", us(0.5)},
        {"p90_us", us(0.9)},   {"p99_us", us(0.99)},    {"max_us", double(h.max()) / 1e3}};
  }
  return {{"stage", result.writes ? "write" : "read"},
          {"iteration", result.iteration},
          {"file_bytes", result.size * settings_.unit_bytes()},
          {"total_bytes", layout_.total(result.size) * settings_.unit_bytes()},
          {"seconds", result.seconds},
          {"cached", is_cached(result)},
          {"bytes_per_second", layout_.rate(result.size, result.seconds) * double(settings_.unit_bytes())},
          {"fastest_rank_seconds", fastest},
          {"slowest_rank_seconds", slowest},
          {"latency", latency},
          {"ranks", ranks}};
}

nlohmann::json NfstestPrinter::json_of(const Ending& ending) const {
  nlohmann::json rows = nlohmann::json::array();
  for (bool writes : {true, false})
    if (const Best& best = best_[writes]; best.rate > 0)
      rows.push_back({{"name", writes ? "write" : "read"},
                      {"unit", "bytes/s"},
                      {"rate", best.rate * double(settings_.unit_bytes())},
                      {"total_bytes", layout_.total(best.size) * settings_.unit_bytes()}});
  nlohmann::json skipped = nlohmann::json::array();
  for (uint64_t size : skipped_) skipped.push_back(size * settings_.unit_bytes());
  return {{"program", "nfstest"},
          {"ranks", cluster_.size()},
          {"hosts", cluster_.hosts()},
          {"files_per_rank", settings_.files},
          {"buffer_bytes", settings_.buffer * settings_.unit_bytes()},
          {"direct", settings_.direct},
          {"fsync", options_.sync},
          {"checked", settings_.check},
          {"wrong_bytes", wrong_},
          {"seconds", ending.seconds},
          {"interrupted", ending.interrupted},
          {"failures", ending.failures},
          {"skipped_file_bytes", skipped},
          {"rows", rows},
          {"stages", stages_}};
}

int NfstestPrinter::end(const Ending& ending) {
  const bool whole = !ending.interrupted && ending.failures.empty();
  if (settings_.verbose && whole) print(layout_.complete(ending.seconds));
  for (bool writes : {true, false})
    if (const Best& best = best_[writes]; best.rate > 0) print(layout_.best(writes, best.size, best.rate));
  if (cached_ && best_[false].rate == 0) print("--- Best reading rate achieved: none, because the client's cache answered\n");
  if (options_.json) fmt::print(file_ ? file_ : stdout, "{}\n", json_of(ending).dump(2));
  const bool written = !file_ || (fflush(file_) == 0 && !ferror(file_));
  if (!written) complain(settings_.output + ": " + strerror(errno));
  if (ending.interrupted) complain("interrupted");
  for (const std::string& failure : ending.failures) complain(failure);
  if (wrong_) complain(fmt::format("{} bytes were not what had been written", wrong_));
  const int status = whole && written && wrong_ == 0 ? 0 : 1;
  keep(ending, status);
  return status;
}

// Adds a run for each iteration, so that iterations are rounds of a comparison.
void NfstestPrinter::keep(const Ending& ending, int status) {
  const std::string load =
      fmt::format("nfstest u{} b{} n{} d{} c{}{} --ranks {}", settings_.unit, settings_.buffer, settings_.files,
                  int(settings_.direct), int(settings_.check), options_.sync ? " --fsync" : "", cluster_.size());
  for (const std::vector<RunRow>& rows : measured_)
    if (!rows.empty()) kept_.keep(load, settings_.folder, rows, int64_t(ending.seconds * 1e9 / double(measured_.size())), status);
}

}  // namespace fsr::fsbench
