// SPDX-License-Identifier: Apache-2.0
#include "cli/replay_command.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>

#include "cli/checks.hpp"
#include "cli/dry_run.hpp"
#include "cli/progress_line.hpp"
#include "engine/clock.hpp"
#include "engine/prepare.hpp"
#include "engine/recording.hpp"
#include "inputs/input.hpp"
#include "plan/credentials.hpp"
#include "plan/file_uses.hpp"
#include "plan/image.hpp"
#include "plan/image_source.hpp"
#include "report/report.hpp"
#include "sql/results.hpp"
#include "targets/target.hpp"
#include "util/memory.hpp"
#include "util/object_set.hpp"
#include "util/output_file.hpp"
#include "util/standard_streams.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

int64_t wall_clock() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// The state of one replay while it passes through its stages.
struct Replay {
  CommandLine command;
  const std::atomic<int>& stop;
  ProgressLine line;
  MonotonicClock clock;
  std::unique_ptr<CredentialMap> credentials;
  std::unique_ptr<Input> input;
  std::unique_ptr<Recording> recording;
  std::unique_ptr<ResultsDatabase> results;
  std::unique_ptr<OutputFile> drawing;
  std::unique_ptr<Target> target;
  bool tree_begun = false, failed_afterwards = false;
  ImageOptions image_options;
  Report report;

  Replay(const CommandLine& c, const std::atomic<int>& s) : command(c), stop(s), line(c.quiet) {}

  // Before anything is done, and before a target changes the umask.
  void open_outputs() {
    if (command.dry_run) return;
    if (!command.results.empty()) results = std::make_unique<ResultsDatabase>(command.results);
    if (!command.workload.svg.empty()) drawing = std::make_unique<OutputFile>(command.workload.svg, true, Readers::by_umask);
    if (!command.record.empty()) recording = std::make_unique<Recording>(command.record);
  }

  void open_target_for_run() {
    if (command.uid == "recorded") credentials = std::make_unique<CredentialMap>();
    if (command.uid.rfind("map=", 0) == 0)
      credentials = std::make_unique<CredentialMap>(CredentialMap::from_file(command.uid.substr(4)));
    std::string url = command.target;
    if (url.empty()) url = "./fsreplay-data";
    if (!command.force) refuse_captured_place(url, input->header());
    target = open_target(
        url, {.clock = &clock, .privileged = command.privileged, .impersonate = credentials != nullptr, .force = command.force});
    report.target = target->name();
    image_options = {.from = command.run.from,
                     .to = command.run.to,
                     .clones = command.clones,
                     .privileged = command.privileged,
                     .owners = credentials != nullptr,
                     .memory = memory_budget()};
  }

  Image image() {
    try {
      Image made = input->image(*target, image_options, [&](uint64_t done, uint64_t total) { line.bar("reading", done, total); });
      report.image = made.summary();
      return made;
    } catch (const std::length_error& e) {
      throw std::runtime_error(command.input + ": " + e.what());
    }
  }

  void note_damage() {
    input->describe(report);
    if (report.incomplete.empty()) return;
    line.clear();
    fmt::print(stderr, "fsreplay: {}: incomplete trace ({}); replaying the {} operations that can be read, until {}\n",
               command.input, report.incomplete, format_count(report.image.operations), format_duration(report.image.last_end));
  }

  // Where each file is to be on a target that has no names.
  void place_files(const Image& made) {
    if (!target->places_files()) return;
    if (report.synthesized) throw std::runtime_error(target->name() + ": has no names, which every mix needs");
    if (command.cleanup) throw std::runtime_error(target->name() + ": has no tree, so there is nothing to clean up");
    FileUses uses;
    const PresentNames nothing;
    ImageContents contents(made.impl().tree, nothing, {});
    uses.add(contents);
    RunOptions ignored = command.run;
    uses.add(input->operations(image_options, ignored), command.run.from, command.run.to);
    target->place_files(uses.in_order_of_use());
  }

  bool prepare_target(Image& made, ObjectSet& known) {
    PrepareOptions options{.trace_id = target->places_files() ? std::string() : report.header.id,
                           .reuse = command.reuse,
                           .ours = input->own_names(),
                           .workers = command.run.workers,
                           .credentials = credentials.get(),
                           .stop = &stop};
    tree_begun = true;
    uint64_t total = plan_size(made);
    options.progress = [&](const Progress& p) { line.bar("image  ", p.done, total); };
    report.prepared = prepare(made, *target, clock, options, known);
    line.clear();
    return report.prepared.failed == 0 && !report.prepared.stopped;
  }

  // Begins the trace of this replay: of the input's own, what does not depend on where it ran.
  void start_recording() {
    const TraceHeader& of = input->header();
    TraceHeader header;
    header.id = random_trace_id();
    header.epoch = wall_clock();
    header.clock_unit = of.clock_unit;
    header.program = "fsreplay " FSR_VERSION;
    utsname machine;
    if (uname(&machine) == 0) header.host = machine.nodename, header.kernel = machine.release;
    header.directory = header.mount_source = report.target;
    header.visibility = "what the replayer issued";
    header.edits = of.edits;
    header.edits.push_back(fmt::format("fsreplay --timing {} --order {} --scale {}x --clones {} of {}",
                                       timing_name(command.run.timing), order_name(command.run.order), command.run.scale,
                                       command.clones, of.id.empty() ? command.input : "trace " + of.id));
    recording->start(header, input->before(image_options));
    report.options.record = recording.get();
  }

  // What comes after the run: one failure, told on stderr, does not keep the rest from being done.
  template <class Step>
  void afterwards(Step step) {
    try {
      step();
    } catch (const std::runtime_error& e) {
      fmt::print(stderr, "fsreplay: {}\n", e.what());
      failed_afterwards = true;
    }
  }

  void run_input(ObjectSet& known) {
    report.options = command.run;
    if (recording) start_recording();
    OpSource& source = input->operations(image_options, report.options);
    report.options.known = &known;
    report.options.credentials = credentials.get();
    report.options.stop = &stop;
    uint64_t operations = report.image.operations * command.clones;
    int64_t span =
        command.run.timing == Timing::original ? int64_t(double(report.image.last - command.run.from) / command.run.scale) : 0;
    if (report.synthesized) operations = command.workload.calls, span = report.options.duration;
    report.intervals.clear();
    report.options.progress = [&](const Progress& p) {
      report.intervals.push_back(p);
      line.replay(p, span, operations);
    };
    report.result = run(source, *target, clock, report.options);
    report.counters = target->counters();
    input->describe(report);
    line.clear();
    report.aftermath = close_input(*input, *target, clock, report.options);
  }

  bool ramp() const { return command.workload.loads.size() > 1; }

  int finish() {
    report.interrupted = stop.load() != 0;
    if (command.json)
      print_whole(report_json(report));
    else if (!ramp() || report.curve.empty())
      print_whole(report_text(report));
    if (results) afterwards([&] { report_database(report, *results); });
    return std::max(verdict(report).status, int(failed_afterwards));
  }

  int add_point() {
    report.interrupted = stop.load() != 0;
    report.curve.push_back(curve_point(report));
    if (ramp() && !command.json) {
      fputs(curve_text(report.curve.back(), report.curve.size() == 1).c_str(), stdout);
      for (const std::string& reason : verdict(report).reasons) fmt::print("{:>10} not clean: {}\n", "", reason);
      fflush(stdout);
    }
    return report.curve.back().status;
  }

  int play();
  int play_rounds();
};

// Plays a round. An exit status when it did not come to a run, or could not be prepared for one.
std::optional<int> play_round(Replay& replay) {
  const CommandLine& command = replay.command;
  Report& report = replay.report;
  Image image = replay.image();
  replay.note_damage();
  if (!report.synthesized && report.image.operations == 0)
    throw std::runtime_error(command.input + ": no operations in the range to replay");
  replay.place_files(image);
  if (command.dry_run) {
    ImageOptions plain = replay.image_options;
    plain.clones = 1;
    RunOptions ignored = command.run;
    return dry_run(command, report.synthesized ? nullptr : &replay.input->operations(plain, ignored), *replay.target, report);
  }
  check_space(*replay.target, report.image, command.force);
  check_writable(*replay.target, replay.clock);

  ObjectSet known;
  if (!replay.prepare_target(image, known)) {
    report.options = command.run;
    return replay.finish();
  }
  if (command.prepare_only) {
    fmt::print(stderr, "fsreplay: {} prepared: {} operations, {}, in {}\n", report.target,
               format_count(report.prepared.operations), format_size(report.prepared.bytes),
               format_duration(report.prepared.elapsed));
    report.interrupted = replay.stop.load() != 0;
    return verdict(report).status;
  }
  image = Image();  // its memory is not needed any more
  replay.run_input(known);
  return std::nullopt;
}

// Options that mean nothing to a load that was never recorded.
void refuse_options_of_traces(const CommandLine& command) {
  const RunOptions& run = command.run;
  if (command.clones != 1 || run.from != 0 || run.to != INT64_MAX || run.scale != 1 || run.timing != Timing::original ||
      command.cleanup)
    throw std::runtime_error(command.input +
                             ": is a mix: --timing, --scale, --clones, --from, --to and --cleanup are for traces (see --load)");
}

int Replay::play_rounds() {
  int status = 0;
  while (input->next_round()) {
    if (std::optional<int> early = play_round(*this)) return *early;
    if (ramp() || drawing) status = std::max(status, add_point());
    if (stop.load() || report.result.stopped_on_error || !report.aftermath.empty()) break;
  }
  if (recording)
    afterwards([&] { recording->finish(!report.result.stopped, report.result.stopped ? "replay stopped" : "replay ended"); });
  if (drawing) afterwards([&] { drawing->finish(curve_svg(report.curve, report.input + " on " + report.target)); });
  return std::max(status, finish());
}

int Replay::play() {
  auto clean_up = [&] {
    if (command.cleanup && tree_begun && !command.prepare_only)
      afterwards([&] { remove_tree(*target, clock, report.header.id, stop); });
  };
  try {
    const int status = play_rounds();
    clean_up();
    return failed_afterwards ? 1 : status;
  } catch (...) {
    clean_up();
    throw;
  }
}

}  // namespace

int replay_command(const CommandLine& command, const std::atomic<int>& stop) {
  Replay replay(command, stop);
  if (!command.results.empty() && !results_replaceable(command.results) && !command.force)
    throw std::runtime_error(command.results + ": exists and is no results database (--force replaces it)");
  replay.input = open_input(command.input, command.workload);
  // Without the pieces before, a trace begins where they ended, with what its checkpoint knows.
  replay.command.run.from = std::max(command.run.from, replay.input->begin_time());
  const bool own_tree = !replay.input->own_names();
  if (!own_tree) refuse_options_of_traces(command);
  Report& report = replay.report;
  report.input = command.input;
  report.header = replay.input->header();
  report.clones = command.clones;
  report.acting_as = command.uid;
  report.started = wall_clock();
  if (!command.record.empty() && replay.ramp()) throw std::runtime_error("--record: expected one load, not several");
  replay.open_outputs();
  replay.open_target_for_run();
  if (!command.dry_run && own_tree)
    check_place(*replay.target, replay.clock, report.header.id, command.reuse, command.cleanup, command.force);
  return replay.play();
}

}  // namespace fsr
