// SPDX-License-Identifier: Apache-2.0
#include "cli/replay.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "cli/captured_place.hpp"
#include "cli/checks.hpp"
#include "cli/dry_run.hpp"
#include "util/clock_ns.hpp"
#include "util/environment.hpp"
#include "util/memory.hpp"
#include "util/standard_streams.hpp"
#include "util/units.hpp"

namespace fsr {

Replay::Replay(const CommandLine& command, std::unique_ptr<Input> input, Cluster& cluster, const std::atomic<int>& stop)
    : command_(command),
      stop_(stop),
      line_(command.quiet, command.status_interval),
      ranks_(cluster, clock_, stop),
      input_(std::move(input)),
      files_(command) {
  if (ranks_.several()) line_.name("rank 0");
  clock_.heed(stop);
  report_.input = command.input;
  report_.acting_as = command.uid;
  report_.label = command.label;
  report_.program = fmt::format("fsreplay {}{}{}", FSR_VERSION, *kCommit ? " " : "", kCommit);
  report_.command = command.text;
  report_.environment = environment();
  report_.allowed = command.allowed;
  if (ranks_.root())  // requirements are checked on the merged report
    for (const std::string& text : command.requirements) report_.requirements.emplace_back(text);
}

void Replay::open() {
  if (!command_.dry_run) open_outputs();
  open_target_for_run();
  if (command_.dry_run || input_->own_names()) return;
  beside_others_ = check_place(*target_, clock_, input_->header().id, command_.reuse, command_.cleanup, command_.force);
  if (beside_others_ && (command_.several_runs() || command_.cleanup))
    throw std::runtime_error(target_->name() +
                             ": holds files that fsreplay did not make, which --repeat, --find-scale and --cleanup would "
                             "remove; name an empty target, or leave these options out");
}

void Replay::open_outputs() {
  if (!command_.record.empty()) recording_.emplace(command_.record, ranks_.cluster());
  if (!ranks_.root()) return;
  files_.open();
  input_->open_outputs();
}

// Returns the dialect of the protocol in parentheses; a URL may leave it to the default.
static std::string dialect_text(const Target& target) {
  return target.mapping() ? fmt::format(" ({})", target.mapping()->name) : "";
}

void Replay::open_target_for_run() {
  std::string url = command_.target;
  if (url.empty()) url = "./fsreplay-data";
  if (command_.uid == "recorded") credentials_ = std::make_unique<CredentialMap>();
  if (command_.uid.rfind("map=", 0) == 0) {
    const CredentialMap::To to = users_are_principals(url) ? CredentialMap::To::principals : CredentialMap::To::accounts;
    credentials_ = std::make_unique<CredentialMap>(CredentialMap::from_file(command_.uid.substr(4), to));
  }
  if (!command_.force) {
    refuse_captured_place(url, input_->header());
    if (input_->is_live()) refuse_unknown_fuse(url, input_->header());
    if (input_->leaves_target_alone()) refuse_own_server(url, input_->header());
  }
  target_ = open_target(url, {.clock = &clock_,
                              .privileged = command_.privileged,
                              .impersonate = credentials_ != nullptr,
                              .force = command_.force,
                              .principals = credentials_ ? credentials_->principals() : std::vector<std::string>()});
  report_.target = target_->name();
  if (report_.target.find("://") != report_.target.npos) report_.target += dialect_text(*target_);
  if (report_.target.starts_with("file:")) report_.target_mount = mount_text(report_.target.substr(5));
  if (command_.cleanup && target_->places_files())
    throw std::runtime_error(target_->name() + ": has no tree that --cleanup could remove; leave --cleanup out");
}

void Replay::warn() {
  const std::string warning = input_->warning();
  if (warning.empty() || !ranks_.root()) return;
  line_.clear();
  fmt::print(stderr, "fsreplay: {}\n", warning);
}

// Reads the input and checks the target.
void Replay::make_ready(RunSteps& steps) {
  steps.read({.privileged = command_.privileged, .owners = credentials_ != nullptr, .memory = memory_budget()},
             [&](uint64_t done, uint64_t total) {
               line_.bar("reading", done, total);
               ranks_.keep_alive();
             });
  warn();
  steps.place_files();
  if (command_.dry_run) return;
  check_space(*target_, report_.image, command_.force);
  if (!input_->leaves_target_alone()) check_writable(*target_, clock_, ranks_.cluster().rank());
}

void Replay::prepare_tree(RunSteps& steps, bool& prepared) {
  if (!ranks_.several() || !input_->shares_tree())
    return ranks_.cluster().on_all([&] { prepare(steps, PrepareStep::all, prepared); });
  for (PrepareStep step : {PrepareStep::contents, PrepareStep::look_up, PrepareStep::seal, PrepareStep::open})
    ranks_.cluster().on_all([&] {
      const bool of_root = step == PrepareStep::contents || step == PrepareStep::seal, of_others = step == PrepareStep::look_up;
      if (ranks_.root() ? !of_others : !of_root) prepare(steps, step, prepared);
    });
}

void Replay::prepare(RunSteps& steps, PrepareStep step, bool& prepared) {
  if (command_.dry_run) return;
  tree_begun_ = true;
  prepared =
      steps.prepare({.step = step,
                     .trace_id = target_->places_files() || beside_others_ || input_->leaves_target_alone() ? std::string()
                                                                                                            : input_->header().id,
                     .marks = ranks_.root(),
                     .reuse = command_.reuse || again_,
                     .workers = command_.workers,
                     .credentials = credentials_.get()},
                    [&](uint64_t done, uint64_t total) {
                      line_.bar("image  ", done, total);
                      ranks_.keep_alive();
                    });
  if (prepared || (!ranks_.several() && !again_)) return;
  if (report_.interrupted) throw std::runtime_error("interrupted");
  throw std::runtime_error(fmt::format("{} operations that prepare the run failed", format_count(report_.prepared.failed)));
}

// Returns the length of the intervals of a run, the same on all ranks. Collective. The results of a short run have 200 intervals,
// which show more than its few seconds. A schedule of many hours has kMost, which bounds their memory. Files that other programs
// read during a run keep their rows of a second.
int64_t Replay::interval_length() {
  constexpr int64_t kUsual = 1'000'000'000, kShortest = 10'000'000;  // ns
  constexpr int64_t kSteps = 200, kStepsOfCapture = 1000;            // a run without a schedule is faster than its capture
  constexpr int64_t kMost = 7200;                                    // intervals of a schedule
  if (command_.interval) return command_.interval;
  const int64_t steps = report_.span > 0 ? report_.span / kSteps : report_.recorded_span / kStepsOfCapture;
  const bool rows = !command_.csv.empty() || !command_.metrics.empty() || (command_.results.empty() && command_.page.empty());
  const int64_t longest = ((report_.span - 1) / (kMost * kUsual) + 1) * kUsual;  // whole seconds
  const int64_t length = rows || steps == 0 ? kUsual : std::clamp(steps, kShortest, longest);
  return !ranks_.several() ? length : int64_t(ranks_.of_root(double(length)));
}

void Replay::report_interval(const Interval& interval) {
  const SeriesInterval& series = report_.series.add(interval);
  if (!ranks_.several())
    follow(interval, series);
  else
    ranks_.add(interval, series);
}

void Replay::follow(const Interval& interval, const SeriesInterval& series) {
  input_->describe_so_far(report_);
  if (!ranks_.several()) report_.counters = target_->counters();
  files_.add(round_, interval, series, report_);
}

// Brings up to date what the verdict on the run so far needs.
void Replay::tell_so_far(const Progress& progress) {
  RunResult& result = report_.result;
  result.unanswered = progress.unanswered;
  for (size_t kind = 0; kind < kOpKinds; ++kind) {
    result.kinds[kind].impossible = progress.impossible[kind];
    result.kinds[kind].refused = progress.refused[kind];
  }
}

void Replay::tell_progress(const Progress& progress) {
  ranks_.move();
  report_.series.add(progress);
  if (!ranks_.several()) tell_so_far(progress);
  line_.replay(progress, report_.series.latest(), report_.span, report_.whole);
}

void Replay::tell(const std::string& line) {
  line_.clear();
  fmt::print(stderr, "fsreplay: {}\n", line);
}

int Replay::finish() {
  report_.interrupted = report_.interrupted || stop_.load() != 0;
  if (!ranks_.root()) return 0;
  if (command_.json)
    report_json(report_, rounds_, print_whole);
  else if (input_->rounds() == 1 || report_.result.elapsed == 0)
    print_whole(report_text(report_));
  return worse_status(verdict(report_).status, int(afterwards_.failed()));
}

// Prints a line for one of several rounds, as soon as it is over.
int Replay::end_round() {
  const std::string round_text = input_->end_round(report_);
  if (!ranks_.root()) return 0;
  const Verdict v = verdict(report_);
  files_.end_run(report_, afterwards_);
  if (input_->rounds() == 1) return v.status;
  if (command_.json) rounds_.push_back(report_);
  if (!command_.json) {
    fputs(round_text.c_str(), stdout);
    for (const std::string& reason : v.reasons) fmt::print("{:>10} not clean: {}\n", "", reason);
    for (const std::string& missed : v.missed) fmt::print("{:>10} {}\n", "", missed);
    fflush(stdout);
  }
  return v.status;
}

// In the first round there is nothing to report.
void Replay::lost_between(const LostRank& lost) {
  if (round_ == 1) throw lost;
  report_ = latest_;
  end_without(lost);
}

void Replay::end_without(const LostRank& lost) {
  if (!ranks_.root()) throw lost;
  ranks_.lose();
  report_.aftermath = fmt::format("{}, before the run was complete", lost.what());
  line_.clear();
  afterwards_.fail(report_.aftermath);
}

bool Replay::over(bool mine) {
  if (!ranks_.whole()) return true;
  try {
    return ranks_.cluster().any_of_ranks(mine || stop_.load() != 0);
  } catch (const LostRank& e) {
    end_without(e);
    return true;
  }
}

std::optional<int> Replay::run_round(RunSteps& steps) {
  report_.started = clock_ns(CLOCK_REALTIME);
  ranks_.begin();
  bool prepared = false;
  ranks_.cluster().on_all([&] { make_ready(steps); });
  // From here on, no rank makes and removes names to check the target. A name that disappears can make another rank's listing
  // fail.
  prepare_tree(steps, prepared);
  if (command_.dry_run) return dry_run(*input_, *target_, report_, command_.json);
  line_.clear();
  if (!prepared) {
    files_.end_run(report_, afterwards_);
    return finish();
  }
  if (command_.prepare_only) {
    fmt::print(stderr, "fsreplay: {} prepared: {} operations, {}, in {}\n", report_.target,
               format_count(report_.prepared.operations), format_size(report_.prepared.bytes),
               format_duration(report_.prepared.elapsed));
    return verdict(report_).status;
  }
  if (recording_) recording_->start(header_of_replay(*input_, command_.input, target_->name()), *input_);
  const int64_t length = interval_length();
  ranks_.exchange(
      round_, length, files_.rows(),
      [this](const Interval& interval, const SeriesInterval& series) {
        if (files_.follow()) follow(interval, series);
      },
      [this](const std::string& what) { tell(what); });
  if (ranks_.root() && files_.describe_operations()) input_->keep_names();
  report_.series = TimeSeries(ranks_.several() ? TimeSeries::Rows::none : files_.rows());
  steps.run({.duration = command_.duration,
             .workers = command_.workers,
             .stop_on_error = command_.stop_on_error,
             .credentials = credentials_.get(),
             .record = recording_ ? &recording_->of_rank() : nullptr,
             .meet = ranks_.meeting(),
             .progress = [this](const Progress& progress) { tell_progress(progress); },
             .on_interval = [this](const Interval& interval) { report_interval(interval); },
             .interval = length});
  line_.clear();
  return std::nullopt;
}

void Replay::complete_report(RunSteps& steps) {
  ranks_.gather(*input_, report_);
  report_.series.set_due(report_.result.due, report_.options.interval);
  files_.end_metrics(report_.result);
  // Finds paths, if the report describes single operations.
  if (ranks_.root() && (files_.describe_operations() || !report_.result.mismatches.empty()))
    afterwards_.run([&] { steps.name_operations(files_.describe_operations()); });
}

int Replay::run_rounds() {
  RunSteps steps(*input_, *target_, clock_, stop_, report_);
  int status = 0;
  while (input_->next_round()) {
    ++round_;
    try {
      if (std::optional<int> early = run_round(steps)) return *early;
    } catch (const LostRank& e) {
      lost_between(e);
      break;
    }
    complete_report(steps);
    status = worse_status(status, end_round());
    if (ranks_.several() && input_->rounds() > 1) latest_ = report_;
    if (over(report_.result.stopped_on_error || !report_.aftermath.empty())) break;
  }
  if (recording_) {
    const std::optional<int64_t> began = ranks_.whole() ? std::optional(ranks_.late(report_.result)) : std::nullopt;
    recording_->finish(!report_.result.stopped, began, *input_, afterwards_);
  }
  afterwards_.run([&] { input_->finish_outputs(report_); });
  files_.look_at(afterwards_);
  return worse_status(status, finish());
}

void Replay::clean_up() {
  if (!command_.cleanup || !tree_begun_ || command_.prepare_only || !ranks_.root()) return;
  afterwards_.run([&] {
    if (!target_) open_target_for_run();  // it could not be opened for another run
    remove_tree(*target_, clock_, input_->header().id, stop_);
  });
}

int Replay::run() {
  try {
    const int status = !command_.find_scale.empty() ? run_search() : command_.repeat > 1 ? run_repeats() : run_rounds();
    if (command_.cleanup && ranks_.whole()) ranks_.cluster().barrier();  // no rank works in the tree any more
    clean_up();
    files_.finish(afterwards_);
    return worse_status(status, int(afterwards_.failed()));
  } catch (...) {
    clean_up();
    throw;
  }
}

}  // namespace fsr
