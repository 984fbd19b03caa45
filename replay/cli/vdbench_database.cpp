// SPDX-License-Identifier: Apache-2.0
#include "cli/vdbench_database.hpp"

#include <algorithm>

#include "util/environment.hpp"
#include "workloads/vdbench/pages/run_page.hpp"

namespace fsr {

using namespace vdbench;

namespace {

Measured measured(const KindCounters& all, const Figures& figures) {
  return {.operations = all.count,
          .failed = all.failed,
          .bytes_read = figures.of(Operation::read).bytes,
          .bytes_written = figures.of(Operation::write).bytes,
          .service = times_of(all.service),
          .response = times_of(all.response)};
}

Measured of_operation(const RunLine& line, unsigned operation) {
  const KindCounters& cell = line.all.operations[operation];
  Measured out{
      .operations = cell.count, .failed = cell.failed, .service = times_of(cell.service), .response = times_of(cell.response)};
  if (Operation(operation) != Operation::write) out.bytes_read = cell.bytes;
  if (Operation(operation) != Operation::read) out.bytes_written = cell.bytes;
  return out;
}

bool happened(const RunLine& line, unsigned operation) {
  const KindCounters& cell = line.all.operations[operation];
  return cell.count + cell.failed != 0;
}

int64_t ns(double seconds) { return int64_t(seconds * 1e9); }

std::vector<std::pair<PartKind, RunPart>> all_parts(const PlannedRun& run) {
  std::vector<std::pair<PartKind, RunPart>> all;
  for (const PartKind kind : {PartKind::storage, PartKind::workload})
    for (RunPart& part : parts_of(run, kind)) all.emplace_back(kind, std::move(part));
  return all;
}

std::string targets(const PlannedRun& run) {
  std::vector<std::string> names;
  auto add = [&](const std::string& name) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const RawWork& work : run.raw_works) add(run.storages[work.storage].lun);
  for (const FileWork& work : run.file_works) add(run.systems[work.system].anchor);
  return command_text(names);
}

int64_t threads(const PlannedRun& run) {
  int64_t sum = 0;
  for (size_t w = 0; w < run.works(); ++w) sum += run.threads_of(w);
  return sum;
}

class VdbenchDatabase final : public RunPage {
 public:
  VdbenchDatabase(const std::string& file, Facts origin, std::string input)
      : database_(file), origin_(std::move(origin)), input_(std::move(input)) {}
  void begin(const RunRecord&, const std::string&) override { pending_.clear(); }
  void interval(const RunRecord& record) override {
    const RunLine& line = record.latest;
    PendingRows rows;
    rows.times.from = ns(record.seconds - line.seconds);
    rows.times.to = ns(record.seconds);
    rows.times.all = measured(line.all.requested, line.all);
    for (unsigned o = 0; o < kOperations; ++o)
      if (happened(line, o)) rows.operations.emplace_back(o, of_operation(line, o));
    for (const auto& [kind, part] : all_parts(*record.run)) {
      const Figures its = figures_of(part, line);
      rows.parts.push_back(measured(its.requested, its));
    }
    pending_.push_back(std::move(rows));
  }
  void end(const RunRecord& record) override {
    add_run(record);
    add_distributions(record);
    for (const PendingRows& rows : pending_) {
      database_.add("intervals", interval_facts(rows.times, "", rows.times.all));
      for (const auto& [operation, its] : rows.operations)
        database_.add("intervals", interval_facts(rows.times, kOperationNames[operation], its));
    }
    add_parts(record);
    for (const RankLine& rank : record.ranks)
      database_.add("ranks", {{"rank", int64_t(rank.rank)},
                              {"host", rank.host},
                              {"streams", int64_t(rank.threads)},
                              {"issued", int64_t(rank.operations + rank.failed)},
                              {"failed", int64_t(rank.failed)},
                              {"bytes_read", int64_t(rank.read)},
                              {"bytes_written", int64_t(rank.written)},
                              {"elapsed_ns", ns(rank.seconds)},
                              {"achieved_per_s", rank.seconds > 0 ? double(rank.operations) / rank.seconds : 0.0}});
    database_.commit();
  }

 private:
  // Rows of one interval. They are kept until the end of the run, so that other programs can use the file meanwhile.
  struct PendingRows {
    SeriesInterval times;
    std::vector<std::pair<unsigned, Measured>> operations;
    std::vector<Measured> parts;
  };
  void add_run(const RunRecord& record) {
    const PlannedRun& run = *record.run;
    const RunLine& average = record.average;
    const KindCounters& all = average.all.requested;
    const bool has_rate = run.rate.kind == Rate::fixed && !run.formats;
    Facts facts = origin_;
    facts.insert(facts.end(),
                 {{"label", run.label()},
                  {"input", input_},
                  {"target", targets(run)},
                  {"timing", std::string(has_rate ? "rate" : "max")},
                  {"streams", threads(run)},
                  {"asked_per_s", has_rate ? run.rate.value : 0.0},
                  {"offered_per_s", has_rate ? run.rate.value : 0.0},
                  {"achieved_per_s", rate(all, average.seconds)},
                  {"elapsed_ns", ns(record.seconds)},
                  {"issued", int64_t(all.count + all.failed)},
                  {"failed", int64_t(all.failed)},
                  {"bytes_read", int64_t(average.all.of(Operation::read).bytes)},
                  {"bytes_written", int64_t(average.all.of(Operation::write).bytes)},
                  {"limited_by", limit_of(record)},
                  {"not_clean", record.errors ? std::to_string(record.errors) + " errors, see errorlog.html" : std::string()},
                  {"exit_status", int64_t(record.errors ? 1 : 0)}});
    database_.begin_run(facts);
  }
  void add_distributions(const RunRecord& record) {
    const RunLine& average = record.average;
    auto add = [&](const std::string& kind, const KindCounters& cell) {
      for (const auto& [what, times] : {std::pair("service", &cell.service), std::pair("response", &cell.response)}) {
        Facts row = {{"kind", kind}, {"what", std::string(what)}};
        const Facts numbers = distribution_facts(*times);
        row.insert(row.end(), numbers.begin(), numbers.end());
        database_.add("distributions", row);
        times->each_bucket([&, name = std::string(what)](int64_t low, int64_t high, uint64_t count) {
          database_.add("histograms",
                        {{"kind", kind}, {"what", name}, {"low_ns", low}, {"high_ns", high}, {"count", int64_t(count)}});
        });
      }
    };
    add("", average.all.requested);
    for (unsigned o = 0; o < kOperations; ++o) {
      if (!happened(average, o)) continue;
      const KindCounters& cell = average.all.operations[o];
      add(kOperationNames[o], cell);
      database_.add("kinds", {{"kind", std::string(kOperationNames[o])},
                              {"issued", int64_t(cell.count + cell.failed)},
                              {"ok", int64_t(cell.count)},
                              {"failed", int64_t(cell.failed)},
                              {"bytes", int64_t(cell.bytes)}});
    }
  }
  void add_parts(const RunRecord& record) {
    const auto parts = all_parts(*record.run);
    auto add = [&](size_t i, bool average, int64_t from, int64_t to, const Measured& m) {
      Facts row = {{"part", std::string(part_words(*record.run, parts[i].first))},
                   {"name", parts[i].second.name},
                   {"average", int64_t(average)},
                   {"from_ns", from},
                   {"to_ns", to},
                   {"asked_percent", parts[i].second.share},
                   {"operations", int64_t(m.operations)},
                   {"failed", int64_t(m.failed)},
                   {"bytes_read", int64_t(m.bytes_read)},
                   {"bytes_written", int64_t(m.bytes_written)}};
      add_times(row, "service", m.service);
      add_times(row, "response", m.response);
      database_.add("parts", row);
    };
    for (size_t i = 0; i < parts.size(); ++i) {
      const Figures its = figures_of(parts[i].second, record.average);
      add(i, true, ns(record.seconds - record.average.seconds), ns(record.seconds), measured(its.requested, its));
      for (const PendingRows& rows : pending_) add(i, false, rows.times.from, rows.times.to, rows.parts[i]);
    }
  }

  ResultsDatabase database_;
  const Facts origin_;
  const std::string input_;
  std::vector<PendingRows> pending_;
};

}  // namespace

std::unique_ptr<RunPage> vdbench_database(const std::string& file, Facts origin, std::string input) {
  return std::make_unique<VdbenchDatabase>(file, std::move(origin), std::move(input));
}

}  // namespace fsr
