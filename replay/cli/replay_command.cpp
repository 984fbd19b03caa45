// SPDX-License-Identifier: Apache-2.0
#include "cli/replay_command.hpp"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>

#include "cli/checks.hpp"
#include "cli/dry_run.hpp"
#include "cli/progress_line.hpp"
#include "engine/clock.hpp"
#include "engine/object_set.hpp"
#include "engine/prepare.hpp"
#include "plan/clones.hpp"
#include "plan/credentials.hpp"
#include "plan/image.hpp"
#include "report/report.hpp"
#include "sql/results.hpp"
#include "targets/target.hpp"
#include "trace/live_state.hpp"
#include "trace/reader.hpp"
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
  const CommandLine& command;
  const std::atomic<int>& stop;
  ProgressLine line;
  MonotonicClock clock;
  std::unique_ptr<CredentialMap> credentials;
  std::unique_ptr<Target> target;
  Report report;

  Replay(const CommandLine& c, const std::atomic<int>& s) : command(c), stop(s), line(c.quiet) {}

  void open_target_for_run(const TraceHeader& header) {
    if (command.uid == "recorded") credentials = std::make_unique<CredentialMap>();
    if (command.uid.rfind("map=", 0) == 0)
      credentials = std::make_unique<CredentialMap>(CredentialMap::from_file(command.uid.substr(4)));
    std::string url = command.target;
    if (url.empty()) url = "./fsreplay-data";
    if (!command.force) refuse_captured_place(url, header);
    target = open_target(url, {.clock = &clock, .privileged = command.privileged, .impersonate = credentials != nullptr});
    report.target = target->name();
  }

  Image analyze(TraceReader& trace) {
    LiveState state;
    if (command.run.from > 0) trace.load_state(command.run.from, state);
    ImageOptions options{.from = command.run.from,
                         .to = command.run.to,
                         .clones = command.clones,
                         .privileged = command.privileged,
                         .owners = credentials != nullptr,
                         .content = trace.header().content != "none"};
    return Image::analyze(trace, std::move(state), options,
                          [&](int64_t) { line.bar("reading", trace.position_bytes(), trace.file_bytes()); });
  }

  void note_damage(TraceReader& trace) {
    report.damage = trace.damage();
    const TraceClosing* closing = trace.closing();
    report.trace_complete = closing && closing->clean && closing->dropped == 0;
    if (!report.trace_complete || !report.damage.empty()) {
      line.clear();
      std::string why = !closing           ? "cut: the closing statement is missing"
                        : closing->dropped ? format_count(closing->dropped) + " operations were dropped by the recorder"
                        : !closing->clean  ? "the recording failed: " + closing->reason
                                           : report.damage.front().what;
      fmt::print(stderr, "fsreplay: {}: incomplete trace ({}); replaying the {} operations that can be read, until {}\n",
                 command.input, why, format_count(report.image.operations), format_duration(report.image.last_end));
    }
  }

  bool prepare_target(Image& image, ObjectSet& known) {
    PrepareOptions options{.trace_id = report.header.id,
                           .reuse = command.reuse,
                           .workers = command.run.workers,
                           .credentials = credentials.get(),
                           .stop = &stop};
    uint64_t total = plan_size(image);
    options.progress = [&](const Progress& p) { line.bar("image  ", p.done, total); };
    report.prepared = prepare(image, *target, clock, options, known);
    line.clear();
    return report.prepared.failed == 0 && !report.prepared.stopped;
  }

  void run_trace(TraceReader& trace, ObjectSet& known) {
    trace.seek_op(0);
    if (command.run.from > 0) trace.seek_time(command.run.from);
    CloneSource clones(trace, command.clones);
    report.options = command.run;
    report.options.known = &known;
    report.options.credentials = credentials.get();
    report.options.stop = &stop;
    uint64_t operations = report.image.operations * command.clones;
    int64_t span =
        command.run.timing == Timing::original ? int64_t(double(report.image.last - command.run.from) / command.run.scale) : 0;
    report.options.progress = [&](const Progress& p) {
      report.intervals.push_back(p);
      line.replay(p, span, operations);
    };
    OpSource& source = command.clones > 1 ? static_cast<OpSource&>(clones) : trace;
    report.result = run(source, *target, clock, report.options);
    report.counters = target->counters();
    line.clear();
  }

  int finish() {
    report.interrupted = stop.load() != 0;
    if (command.json)
      fputs(report_json(report).c_str(), stdout);
    else
      fputs(report_text(report).c_str(), stdout);
    if (!command.results.empty()) report_database(report, command.results);
    return verdict(report).status;
  }
};

}  // namespace

int replay_command(const CommandLine& command, const std::atomic<int>& stop) {
  Replay replay(command, stop);
  if (!command.results.empty() && !results_replaceable(command.results) && !command.force)
    throw std::runtime_error(command.results + ": exists and is no results database (--force replaces it)");
  std::unique_ptr<TraceReader> trace = open_input(command.input);
  Report& report = replay.report;
  report.input = command.input;
  report.header = trace->header();
  report.clones = command.clones;
  report.acting_as = command.uid;
  report.started = wall_clock();
  replay.open_target_for_run(report.header);
  if (!command.dry_run) check_place(*replay.target, replay.clock, report.header.id, command.reuse, command.force);

  Image image = replay.analyze(*trace);
  report.image = image.summary();
  replay.note_damage(*trace);
  if (report.image.operations == 0) throw std::runtime_error(command.input + ": no operations in the range to replay");
  if (command.dry_run) return dry_run(command, *trace, *replay.target, report);
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
    report.interrupted = stop.load() != 0;
    return verdict(report).status;
  }
  image = Image();  // its memory is not needed any more
  replay.run_trace(*trace, known);
  int status = replay.finish();
  if (command.cleanup) remove_tree(*replay.target, replay.clock, report.header.id);
  return status;
}

}  // namespace fsr
