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
#include <utility>
#include <vector>

#include "util/clock_ns.hpp"
#include "util/environment.hpp"
#include "util/units.hpp"
#include "workloads/vdbench/language/values.hpp"

namespace fsr::vdbench {

static bool ends_all_runs(const std::string& word) { return same_word(word, "end_vdbench") || same_word(word, "terminate"); }

std::string take_monitor_word(const std::string& name) {
  std::ifstream file(name);
  for (std::string word; file >> word;) {
    if (!ends_all_runs(word) && !same_word(word, "end_rd") && !same_word(word, "shutdown")) continue;
    std::ofstream(name, std::ios::trunc);
    return word;
  }
  return {};
}

namespace {

// Limits that end a run before its time.
struct RunLimits {
  std::atomic<bool>& over;     // set at a limit
  const std::string& monitor;  // file for take_monitor_word()
  ErrorLog& errors;
  double size;  // bytes of all SDs of the run, as unit of maxdata=
};

// Reports a run during its execution.
class IntervalReporter {
 public:
  IntervalReporter(const PlannedRun& run, Reports& reports, const RunLimits& limits, int64_t duration)
      : reports_(reports), limits_(limits), duration_(duration) {
    record_.run = &run;
    record_.wall = clock_ns(CLOCK_REALTIME);
    record_.warmup = run.formats ? 1 : unsigned(std::max<int64_t>(1, run.run->warmup / run.run->interval));
    reports_.begin(record_);
  }

  // Workers hand over counts after the end, too. These belong to the last interval, so it is reported later.
  void interval(const RunInterval& counted) {
    const bool ends_late = duration_ && !counted.last && counted.to >= duration_;
    if (!late_ && !ends_late) return report(counted);
    if (late_)
      late_->merge(counted);
    else
      late_ = counted;
    if (!ends_late) report(*std::exchange(late_, {}));
  }

  RunRecord finish() {
    if (late_) report(*late_);  // the last interval was not reported if threads did not end
    if (record_.intervals == 0) {
      // Pages need at least one interval. It is empty if a rank was lost before all ranks had sent one.
      add(line_of(*record_.run, {}, double(record_.run->run->interval)));
    }
    record_.average.wall = clock_ns(CLOCK_REALTIME);
    return std::move(record_);
  }
  bool ends_all = false;  // the monitor's file contained a word that ends all runs

 private:
  void report(const RunInterval& counted) {
    const int64_t length = (duration_ ? std::min(counted.to, duration_) : counted.to) - counted.from;
    if (length <= 0 || is_remnant(length)) return;
    RunLine line = line_of(*record_.run, counted.counts, double(length) / double(kSecond));
    std::set<unsigned> machines;
    for (const RankInterval& rank : counted.ranks) {
      line.ranks.push_back(line_of(*record_.run, rank.counts, line.seconds));
      line.ranks.back().cpu = rank.cpu;
      if (rank.reported && machines.insert(rank.machine).second)
        line.cpu = mean_of(line.cpu, double(machines.size() - 1), rank.cpu, 1);
    }
    add(std::move(line));
    check_limits();
    limits_.errors.look_at_time();
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
      return limit > 0 && bytes >= (limit < kLeastBytes ? limit * limits_.size : limit);
    };
    const bool enough =
        reached(read_ + written_, run.max_data) || reached(read_, run.max_read) || reached(written_, run.max_written);
    if (enough && !record_.run->formats) limits_.over = true;
  }

  void look_at_monitor() {
    const std::string word = take_monitor_word(limits_.monitor);
    if (word.empty()) return;
    reports_.note(fmt::format("'{}' found in the monitor file {}", word, limits_.monitor));
    ends_all = ends_all || ends_all_runs(word);
    limits_.over = true;
  }

  Reports& reports_;
  const RunLimits limits_;
  const int64_t duration_;
  RunRecord record_;
  CpuMeter cpu_;
  std::optional<RunInterval> late_;  // the last interval, until it is reported
  double read_ = 0, written_ = 0;
};

}  // namespace

RunRecord Runs::perform(const PlannedRun& run, bool* ends_all) {
  ++runs_;
  const General& general = definitions_.general;
  const std::vector<RankSlice> dealt = prepare(run);
  Pace pace(shares_of(run, dealt), pace_of(run));
  std::atomic<bool> over = false;
  RankMessages messages(ranks_, over, stop_, makers(run));
  auto note_error = [this](const std::string& line, const ErrorLocation& location) {
    reports_.error(line);
    failed_at(location);
  };
  ErrorLog errors(limits_of(general), over,
                  [&](const std::string& line, const ErrorLocation& location) { messages.error(line, location, note_error); });
  ValidatedRun validation{.name = run.name, .rank = ranks_.cluster().rank()};
  const std::unique_ptr<Threads> threads = make_threads(run, {dealt, pace, errors, validation, messages});
  const std::vector<ValidatedStorage*> storages = validated(&run);
  for (ValidatedStorage* storage : storages)
    if (storage->journal) storage->journal->begin_run(run.name, validation.rank);
  const int64_t duration = run.formats ? 0 : (run.run->elapsed + run.run->warmup) * kSecond;
  IntervalReporter reporter(run, reports_, {over, general.monitor, errors, size_of(run)}, duration);
  Tally counts;  // of this rank
  RankPart own;
  auto on_interval = [&](const Interval& counted) {
    counts.merge(counted.counts);
    own.seconds = double(counted.to) / double(kSecond);
    messages.interval(counted);
  };
  const RunnerOptions options{
      .duration = duration, .interval = run.run->interval * kSecond, .on_interval = on_interval, .stop = &stop_, .over = &over};
  std::string failure;  // no other run is possible: a thread threw an exception or did not end
  auto act = [&] {
    try {
      const RunnerResult measured = runner_.run(threads->parts, options);
      if (measured.abandoned) failure = fmt::format("rd={}: {} threads did not end", run.name, measured.abandoned);
    } catch (const std::exception& e) {
      failure = fmt::format("rd={}: {}", run.name, e.what());
    }
    if (!failure.empty()) messages.end();
  };
  messages.perform(act, errors, [&](const RunInterval& counted) { reporter.interval(counted); });
  RunRecord record = reporter.finish();
  after_threads(run, errors);
  const Figures all = line_of(run, counts, own.seconds).all;
  own.operations = all.requested.count;
  own.failed = all.requested.failed;
  own.bytes = all.requested.bytes;
  own.threads = threads->parts.size();
  own.read = all.of(Operation::read).bytes;
  own.written = all.of(Operation::write).bytes;
  own.errors = errors.count();
  own.events = threads->events();
  own.wrong_blocks = validation.bad.lines();
  own.checked = validation.checked;
  own.wrong = validation.wrong;
  messages.gather(own, record);
  errors_ += record.errors;
  *ends_all = reporter.ends_all;
  reports_.end(record);
  messages.check([&] {
    if (!failure.empty()) throw std::runtime_error(failure);
  });
  for (ValidatedStorage* storage : storages) storage->save_keys();
  messages.check([&] {
    if (!ranks_.cluster().root()) return;
    end_validation(record, general, stop_, reports_);
    end_at_errors(errors, "rd=" + run.name, general, reports_);
  });
  after(run);
  return record;
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
