// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/run/vdbench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "base/clock.hpp"
#include "cluster/rank_group.hpp"
#include "util/clock_ns.hpp"
#include "util/standard_streams.hpp"
#include "workloads/vdbench/language/checks.hpp"
#include "workloads/vdbench/language/definitions.hpp"
#include "workloads/vdbench/language/sections.hpp"
#include "workloads/vdbench/language/values.hpp"
#include "workloads/vdbench/pages/skew_page.hpp"
#include "workloads/vdbench/run/file_runs.hpp"
#include "workloads/vdbench/run/raw_runs.hpp"

namespace fsr::vdbench {

namespace {

std::string read_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file || std::filesystem::is_directory(name)) throw std::runtime_error(name + ": " + strerror(file ? EISDIR : errno));
  return {std::istreambuf_iterator<char>(file), {}};
}

class VdbenchProgram {
 public:
  VdbenchProgram(const ProgramOptions& options, Cluster& cluster, const std::atomic<int>& stop)
      : options_(options), cluster_(cluster), stop_(stop), ranks_(cluster, stop) {
    clock_.heed(stop);
    std::vector<SourceText> texts;
    for (const std::string& file : options.files) texts.push_back({file, read_file(file)});
    if (options.text) texts.push_back({"command line", *options.text});
    if (texts.empty()) throw std::runtime_error("expected a parameter file: -f FILE");
    StatementReader reader(options.substitutions, read_file);
    statements_ = reader.read(texts);
    lines_ = reader.lines();
    add_to_runs();
    all_ = define(statements_);
    override_runs();
    Validation& validation = all_.general.validation;
    if (options.validation.on) validation = options.validation;
    ContentSettings& content = all_.general.content;
    if (!content.pattern_file.empty()) content.pattern = read_pattern();
    if (validation.on && all_.general.concatenates)
      throw ParameterError(all_.general.concatenates_position, "data validation: not possible with concatenatesds=");
    runs_ = plan_runs(all_);
    for (const PlannedRun& run : runs_) refuse(run, validation.on);
    begin_at(options.first_run);
    repeats_ = options.repeats.value_or(all_.general.repeats);
    if (ranks_.several()) refuse_ranks();
    check_trees();
  }

  int simulate() const {
    const std::string again = repeats_.times == 1 ? ""
                              : repeats_.times    ? fmt::format("all runs {} times\n", repeats_.times)
                              : repeats_.seconds  ? fmt::format("all runs again for {} seconds\n", repeats_.seconds)
                                                  : "all runs again until stopped\n";
    fmt::print("{}{}{}Vdbench simulation completed successfully.\n", vdbench::simulate(runs_), sizes_of_trees(), again);
    return 0;
  }

  // Returns the lines of the parameter files.
  const std::vector<std::string>& lines() const { return lines_; }

  int run() {
    std::string directory;  // only on the root
    cluster_.on_all([&] {
      if (cluster_.root()) directory = make_output_directory(options_.output);
    });
    Reports reports({.general = all_.general,
                     .directory = directory,
                     .quiet = options_.quiet || options_.json,
                     .layout = layout_of(options_.layout),
                     .json = options_.json,
                     .other = options_.results},
                    runs_, lines_, statements_);
    reports.note("Created output directory '" + directory + "'");
    std::unique_ptr<Runs> runs;
    if (all_.files())
      runs = std::make_unique<FileRuns>(all_, clock_, stop_, reports, ranks_);
    else
      runs = std::make_unique<RawRuns>(all_, clock_, stop_, reports, ranks_, options_.force);
    for (const bool by_root : {true, false})  // the root goes first, because it makes missing files
      cluster_.on_all([&] {
        if (by_root == cluster_.root()) runs->open(runs_);
      });
    if (all_.general.validation.only_recovers) runs_.clear();
    std::string failure;
    try {
      runs->recover();
      commands(all_.general.start, reports);
      for (const PlannedRun& planned : runs->formats()) perform(*runs, planned, reports);
      all_rounds(*runs, reports);
      commands(all_.general.end, reports);
    } catch (const std::runtime_error& e) {
      failure = e.what();
    }
    if (failure.empty() && (stopped_ || stop_.load() != 0)) failure = "interrupted";
    if (!cluster_.root()) return 0;
    try {
      reports.finish_pages();
    } catch (const std::runtime_error& e) {
      if (failure.empty()) failure = e.what();
    }
    if (options_.json) print_whole(reports.json().dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    if (failure.empty() && runs->errors()) failure = fmt::format("{} errors: see {}/errorlog.html", runs->errors(), directory);
    if (failure.empty()) {
      reports.finish(fmt::format("Vdbench execution completed successfully. Output directory: {}", directory));
      return 0;
    }
    reports.finish("Vdbench ended: " + failure);
    fmt::print(stderr, "{}: {}\n", options_.program, failure);
    return 1;
  }

 private:
  // Throws for trees that are not possible, in any round of a loop, before anything is changed.
  void check_trees() const {
    std::vector<const FileSystem*> checked;
    auto check = [&](const FileSystem& system) {
      if (std::ranges::any_of(checked, [&](const FileSystem* other) { return other->same_files(system); })) return;
      Structure(system).chosen_by(system);
      checked.push_back(&system);
    };
    for (const PlannedRun& run : runs_)
      for (const FileWork& work : run.file_works) {
        check(run.systems[work.system]);
        if (work.workload.target) check(run.systems[*work.workload.target]);
      }
  }
  // Returns a line for each tree that the runs use.
  std::string sizes_of_trees() const {
    std::vector<std::string> texts;
    for (const PlannedRun& run : runs_)
      for (const FileWork& work : run.file_works) {
        const FileSystem& system = run.systems[work.system];
        const std::string text = Structure(system).text(system.anchor) + "\n";
        if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
      }
    return fmt::format("{}", fmt::join(texts, ""));
  }
  // Adds parameters of the command line to all RDs: "+elapsed=10,interval=2".
  void add_to_runs() {
    if (options_.run_parameters.empty()) return;
    const std::vector<Statement> more = StatementReader({}, read_file).read({{"command line", options_.run_parameters}});
    for (Statement& statement : statements_)
      if (section_of(statement.parameters[0]) == Section::runs)
        for (const Statement& one : more)
          statement.parameters.insert(statement.parameters.end(), one.parameters.begin(), one.parameters.end());
  }
  std::shared_ptr<const std::string> read_pattern() const {
    const std::string& name = all_.general.content.pattern_file;
    try {
      const std::string pattern = read_file(name);
      if (pattern.empty()) throw std::runtime_error(name + ": is empty, expected a pattern");
      return std::make_shared<const std::string>(pattern);
    } catch (const std::runtime_error& e) {
      throw ParameterError(all_.general.pattern_position, e.what());
    }
  }
  void begin_at(const std::string& name) {
    if (name.empty()) return;
    const auto first =
        std::find_if(runs_.begin(), runs_.end(), [&](const PlannedRun& run) { return same_word(run.run->name, name); });
    if (first == runs_.end()) throw std::runtime_error(fmt::format("-r {}: no RD has this name", name));
    runs_.erase(runs_.begin(), first);
  }
  // Refuses settings that do not fit together, also those that loops have added.
  void refuse(const PlannedRun& run, bool validates) const {
    const SourcePosition& position = all_.general.content.given() ? all_.general.content_position : run.run->position;
    if (run.content.pattern && run.content.compression > 1)
      throw ParameterError(run.run->position, fmt::format("rd={}: expected either pattern= or compratio=", run.name));
    auto has_own = [](const auto& storage) { return !storage.content.empty(); };
    if (validates &&
        (run.content.given() || std::ranges::any_of(run.storages, has_own) || std::ranges::any_of(run.systems, has_own)))
      throw ParameterError(position, "data validation: not possible with pattern=, compratio= or dedupratio=");
  }
  void override_runs() {
    for (Run& run : all_.runs) {
      if (options_.elapsed) run.elapsed = *options_.elapsed;
      if (options_.interval) run.interval = *options_.interval;
      if (options_.warmup) run.warmup = *options_.warmup;
      if (run.elapsed < run.interval || run.elapsed % run.interval || run.warmup % run.interval)
        throw std::runtime_error(fmt::format("rd={}: expected elapsed and warmup to be multiples of the interval", run.name));
      timed_steps(run);
      if (options_.format) run.format.yes = *options_.format;
      if (options_.format && !*options_.format) run.format = {};
      run.format.only |= options_.format_only;
      run.format.yes |= options_.format_clean;
    }
  }

  // Refuses settings that do not work on several ranks, for example because a rank knows only its own writes.
  void refuse_ranks() const {
    if (all_.general.validation.on) throw std::runtime_error("data validation: expected one process, not ranks");
    if (all_.general.removes) throw std::runtime_error("data_errors=remove: expected one process, not ranks");
    auto refuse_own = [](const std::string& kind, const std::string& name, const std::string& where) {
      if (where.starts_with("memory:"))
        throw std::runtime_error(fmt::format(
            "{}={}: ranks can't share memory:, which exists in one process; use another target or one rank", kind, name));
    };
    for (const Storage& storage : all_.storages) refuse_own("sd", storage.name, storage.lun);
    for (const FileSystem& system : all_.systems) refuse_own("fsd", system.name, system.anchor);
  }

  // Runs commands on the root, while the other ranks wait.
  void commands(const Commands& commands, Reports& reports) {
    if (commands.lines.empty()) return;
    cluster_.on_all([&] {
      ranks_.work([&] {
        if (cluster_.root()) run_commands(commands, reports);
      });
    });
  }

  // True if no rank has to stop.
  bool goes_on() {
    stopped_ = stopped_ || cluster_.any_of_ranks(stop_.load() != 0);
    ends_all_ = ends_all_ || cluster_.any_of_ranks(ends_all_);
    return !stopped_ && !ends_all_;
  }

  bool of_root(bool known) { return !cluster_.broadcast(known ? "y" : "").empty(); }

  void all_rounds(Runs& runs, Reports& reports) {
    const int64_t end = clock_.now() + repeats_.seconds * kSecond;
    for (uint64_t round = 1; !runs_.empty(); ++round) {
      if (round > 1) reports.note(fmt::format("Loop {} of all runs", round));
      for (const PlannedRun& planned : runs_) perform(runs, planned, reports);
      const bool enough = round == repeats_.times || (repeats_.seconds && clock_.now() >= end);
      if (of_root(enough) || !goes_on()) return;
    }
  }

  void perform(Runs& runs, const PlannedRun& as_planned, Reports& reports) {
    if (!goes_on()) return;
    const PlannedRun planned = at_percentage(as_planned, achieved_);
    if (!std::exchange(first_, false)) pause(planned.run->pause);
    for (const std::string& note : planned.notes) reports.note(note);
    if (!planned.formats) commands(planned.run->start, reports);
    const RunRecord record = runs.perform(planned, &ends_all_);
    achieved_ = root_value(rate(record.average.all.requested, record.average.seconds));
    check_skew(record);
    if (planned.rate.kind == Rate::curve) curve(runs, record, reports);
    if (!planned.formats && planned.rate.kind != Rate::curve) commands(planned.run->end, reports);
  }

  // Returns on all ranks what the root knows.
  double root_value(double known) {
    const std::string from_root = cluster_.broadcast({reinterpret_cast<const char*>(&known), sizeof known});
    memcpy(&known, from_root.data(), sizeof known);
    return known;
  }

  // Ends everything if a workload missed its share by more than abort_failed_skew=.
  void check_skew(const RunRecord& record) {
    const double limit = all_.general.skew_limit;
    if (limit == 0 || record.run->formats) return;
    const double worst = root_value(worst_skew(record));
    if (worst > limit)
      throw std::runtime_error(
          fmt::format("rd={}: a workload missed its share by {:.2f} %, more than abort_failed_skew={:g}: see skew.html",
                      record.run->name, worst, limit));
  }

  // Runs the points of a curve, whose rates are shares of the measured highest rate.
  void curve(Runs& runs, const RunRecord& highest, Reports& reports) {
    for (const PlannedRun& point : curve_runs(*highest.run, achieved_)) {
      if (!goes_on()) return;
      const RunRecord record = runs.perform(point, &ends_all_);
      const double stop_at = point.run->stop_curve;
      if (stop_at <= 0 || !of_root(mean_ms(record.average.all.requested) >= stop_at)) continue;
      reports.note(fmt::format("rd={}: the response time reached stopcurve={:g}", point.name, stop_at));
      return;
    }
  }

  void pause(int64_t seconds) {
    const int64_t end = clock_.now() + seconds * kSecond;
    while (clock_.now() < end && stop_.load() == 0) {
      const int64_t left = std::min<int64_t>(end - clock_.now(), kSecond / 10);
      const timespec time{.tv_sec = 0, .tv_nsec = std::max<int64_t>(left, 0)};
      nanosleep(&time, nullptr);
      ranks_.heartbeat();
    }
  }

  const ProgramOptions& options_;
  Cluster& cluster_;
  const std::atomic<int>& stop_;
  RankGroup ranks_;
  MonotonicClock clock_;
  std::vector<Statement> statements_;
  std::vector<std::string> lines_;
  Definitions all_;
  std::vector<PlannedRun> runs_;
  Repeats repeats_;
  double achieved_ = 0;  // operations per second of the previous run
  bool first_ = true, ends_all_ = false, stopped_ = false;
};

}  // namespace

int run_vdbench(const ProgramOptions& options, Cluster& cluster, const std::atomic<int>& stop) {
  std::unique_ptr<VdbenchProgram> program;
  cluster.on_all([&] { program = std::make_unique<VdbenchProgram>(options, cluster, stop); });
  const std::string text = fmt::format("{}", fmt::join(program->lines(), "\n")), of_root = cluster.broadcast(text);
  cluster.on_all([&] {
    if (text != of_root) throw std::runtime_error("has other parameter files than rank 0; use the same files on all ranks");
  });
  if (!options.simulate) return program->run();
  return cluster.root() ? program->simulate() : 0;
}

}  // namespace fsr::vdbench
