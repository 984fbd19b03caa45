// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/run/runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "util/clock_ns.hpp"
#include "util/environment.hpp"
#include "util/units.hpp"

namespace fsr::vdbench {

namespace {

// Reports a run during its execution.
class IntervalReporter {
 public:
  IntervalReporter(const PlannedRun& run, Reports& reports, const RunControl& options, int64_t duration)
      : reports_(reports), options_(options), duration_(duration) {
    record_.run = &run;
    record_.wall = clock_ns(CLOCK_REALTIME);
    record_.warmup = run.formats ? 1 : unsigned(std::max<int64_t>(1, run.run->warmup / run.run->interval));
    reports_.begin(record_);
  }

  // Workers hand over counts after the end, too. These belong to the last interval, so it is reported later.
  void interval(const Interval& counted, const std::vector<RankInterval>& ranks) {
    if (duration_ && !counted.last && counted.to >= duration_) {
      late_ = counted.counts;
      late_ranks_ = ranks;
      late_from_ = counted.from;
      return;
    }
    if (!late_from_) return report(counted.counts, ranks, counted.from, counted.to);
    late_.merge(counted.counts);
    late_ranks_.resize(std::max(late_ranks_.size(), ranks.size()));
    for (size_t rank = 0; rank < ranks.size(); ++rank) late_ranks_[rank].merge(ranks[rank]);
    report_late();
  }

  RunRecord finish() {
    if (late_from_) report_late();  // the last interval was not reported if threads did not end
    if (record_.intervals == 0) {
      // Pages need at least one interval. It is empty if a rank was lost before all ranks had sent one.
      add(line_of(*record_.run, {}, double(record_.run->run->interval)));
    }
    record_.average.wall = clock_ns(CLOCK_REALTIME);
    return std::move(record_);
  }
  bool ends_all = false;

 private:
  void report_late() {
    report(late_, late_ranks_, *late_from_, duration_);
    late_from_.reset();
  }

  void report(const Tally& counts, const std::vector<RankInterval>& ranks, int64_t from, int64_t to) {
    if (duration_) to = std::min(to, duration_);
    if (to <= from || is_remnant(to - from)) return;
    RunLine line = line_of(*record_.run, counts, double(to - from) / double(kSecond));
    std::set<unsigned> machines;
    for (const RankInterval& rank : ranks) {
      line.ranks.push_back(line_of(*record_.run, rank.counts, line.seconds));
      line.ranks.back().cpu = rank.cpu;
      if (rank.reported && machines.insert(rank.machine).second)
        line.cpu = mean_of(line.cpu, double(machines.size() - 1), rank.cpu, 1);
    }
    add(std::move(line));
    check_limits();
    options_.errors->look_at_time();
    look_at_monitor();
  }

  void add(RunLine line) {
    line.wall = clock_ns(CLOCK_REALTIME);
    if (line.ranks.empty()) line.cpu = cpu_.next();
    add_interval(record_, std::move(line));
    reports_.interval(record_);
  }

  // True for an interval behind the last complete one of a run that ended early. It is too short for figures.
  bool is_remnant(int64_t length) const { return record_.intervals != 0 && length < record_.run->run->interval * kSecond / 10; }

  void check_limits() {
    const Run& run = *record_.run->run;
    const RunLine& line = record_.latest;
    read_ += double(line.all.of(Operation::read).bytes);
    written_ += double(line.all.of(Operation::write).bytes);
    auto reached = [&](double bytes, double limit) {
      return limit > 0 && bytes >= (limit < kLeastBytes ? limit * options_.size : limit);
    };
    const bool enough =
        reached(read_ + written_, run.max_data) || reached(read_, run.max_read) || reached(written_, run.max_written);
    if (enough && !record_.run->formats) *options_.over = true;
  }

  void look_at_monitor() {
    if (options_.monitor.empty()) return;
    std::ifstream file(options_.monitor);
    for (std::string word; file >> word;) {
      if (word != "end_rd" && word != "end_vdbench") continue;
      reports_.note(fmt::format("'{}' found in the monitor file {}", word, options_.monitor));
      ends_all = ends_all || word == "end_vdbench";
      *options_.over = true;
      std::ofstream(options_.monitor, std::ios::trunc);
      return;
    }
  }

  Reports& reports_;
  const RunControl& options_;
  const int64_t duration_;
  RunRecord record_;
  CpuMeter cpu_;
  Tally late_;
  std::vector<RankInterval> late_ranks_;
  std::optional<int64_t> late_from_;
  double read_ = 0, written_ = 0;
};

}  // namespace

RunOutcome perform(ThreadRunner& runner, const std::vector<SimThreadSpec>& parts, const PlannedRun& run, Reports& reports,
                   RankMessages& messages, const RunControl& options) {
  const int64_t duration = run.formats ? 0 : (run.run->elapsed + run.run->warmup) * kSecond;
  IntervalReporter reporter(run, reports, options, duration);
  RunnerOptions threads;
  threads.duration = duration;
  threads.interval = run.run->interval * kSecond;
  Tally counts;    // of this rank
  int64_t to = 0;  // ns since the start
  threads.on_interval = [&](const Interval& counted) {
    counts.merge(counted.counts);
    to = counted.to;
    messages.interval(counted);
  };
  threads.stop = options.stop;
  threads.over = options.over;
  std::string failure;
  auto act = [&] {
    try {
      const RunnerResult measured = runner.run(parts, threads);
      if (measured.abandoned) failure = fmt::format("rd={}: {} threads did not end", run.name, measured.abandoned);
    } catch (const std::exception& e) {
      failure = fmt::format("rd={}: {}", run.name, e.what());
    }
    if (!failure.empty()) messages.end();
  };
  messages.perform(act, *options.errors,
                   [&](const Interval& counted, const std::vector<RankInterval>& ranks) { reporter.interval(counted, ranks); });
  RunOutcome performed{.record = reporter.finish(), .own = {}, .ends_all = reporter.ends_all, .failure = failure};
  performed.own.seconds = double(to) / double(kSecond);
  const Figures all = line_of(run, counts, performed.own.seconds).all;
  const KindCounters& requested = all.requested;
  performed.own.operations = requested.count;
  performed.own.failed = requested.failed;
  performed.own.bytes = requested.bytes;
  performed.own.threads = parts.size();
  performed.own.read = all.of(Operation::read).bytes;
  performed.own.written = all.of(Operation::write).bytes;
  return performed;
}

ErrorLimits limits_of(const General& general) { return {.most = general.data_errors, .wait = general.error_wait}; }

namespace {

struct Variable {
  std::string_view name;  // with its $
  std::string value;
};

// Replaces variables once; text of a value is not searched again.
std::string replaced(const std::string& line, const std::vector<Variable>& variables) {
  std::string text;
  for (size_t at = 0; at < line.size();) {
    const auto found = std::find_if(variables.begin(), variables.end(),
                                    [&](const Variable& v) { return line.compare(at, v.name.size(), v.name) == 0; });
    text += found == variables.end() ? std::string(1, line[at]) : found->value;
    at += found == variables.end() ? 1 : found->name.size();
  }
  return text;
}

void run_line(const std::string& line, Reports& reports) {
  reports.note("Start/end command: executing '" + line + "'");
  FILE* out = popen(line.c_str(), "r");
  if (!out) throw std::runtime_error(line + ": can't be started");
  char text[4096];
  while (fgets(text, sizeof text, out)) {
    std::string output = text;
    while (output.ends_with('\n')) output.pop_back();
    reports.note(output);
  }
  if (const int status = pclose(out)) throw_error("'{}' ended with status {}", line, status >> 8);
}

}  // namespace

void end_at_errors(const ErrorLog& errors, const std::string& after, const General& general, Reports& reports) {
  if (errors.waited() && !errors.too_many())
    throw_error("{}: {} errors, and none for the {} seconds of data_errors=: see errorlog.html", after, errors.count(),
                general.error_wait);
  if (!errors.too_many()) return;
  if (!general.error_command.empty()) {
    const ErrorLocation& first = errors.first();
    try {
      run_line(replaced(general.error_command, {{"$output", reports.directory()},
                                                {"$lun", command_text({first.lun})},
                                                {"$lba", std::to_string(first.lba)},
                                                {"$size", std::to_string(first.size)},
                                                {"$sector", std::to_string(first.lba / 512)},
                                                {"$error", std::to_string(first.error)}}),
               reports);
    } catch (const std::runtime_error& e) {
      reports.note(e.what());
    }
  }
  throw_error("{}: {} errors, as many as data_errors= allows: see errorlog.html", after, errors.count());
}

void end_validation(const RunRecord& record, const General& general, const std::atomic<int>& stop, Reports& reports) {
  if (!general.validation.on) return;
  reports.note(fmt::format("Data Validation: {} blocks checked, {} not as written", format_count(record.checked),
                           format_count(record.wrong)));
  const PlannedRun& run = *record.run;
  auto checks = [](const RawWork& work) { return work.workload.seek != Seek::once || work.workload.read_percent > 0; };
  auto transfers = [](const FileWork& work) { return work.workload.operation <= Operation::write; };
  const bool expected = std::ranges::any_of(run.raw_works, checks) || std::ranges::any_of(run.file_works, transfers);
  if (record.checked == 0 && expected && !run.formats && stop.load() == 0)
    throw_error("rd={}: No read validations done during a Data Validation run", run.name);
}

void run_commands(const Commands& commands, Reports& reports) {
  for (const std::string& line : commands) run_line(replaced(line, {{"$output", reports.directory()}}), reports);
}

}  // namespace fsr::vdbench
