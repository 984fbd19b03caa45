// SPDX-License-Identifier: Apache-2.0
#include "cli/replay.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "cli/checks.hpp"
#include "cli/dry_run.hpp"
#include "util/environment.hpp"
#include "util/memory.hpp"
#include "util/standard_streams.hpp"
#include "util/units.hpp"

namespace fsr {

constexpr int64_t kLead = 50'000'000;  // ns from when ranks have met to their common start

static int64_t wall_clock() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

Replay::Replay(const CommandLine& c, Cluster& all, const std::atomic<int>& s)
    : command(c), cluster(all), stop(s), line(c.quiet, c.status_interval) {
  clock.heed(s);
}

void Replay::open_outputs() {
  if (command.dry_run) return;
  if (!command.results.empty()) results = std::make_unique<ResultsDatabase>(command.results);
  if (!command.csv.empty()) csv = std::make_unique<CsvFile>(command.csv, command.force);
  if (!command.metrics.empty()) metrics = std::make_unique<MetricsFile>(command.metrics, command.input, command.target);
  input->open_outputs();
  if (!command.record.empty()) recording = std::make_unique<Recording>(command.record);
}

void Replay::open_target_for_run() {
  if (command.uid == "recorded") credentials = std::make_unique<CredentialMap>();
  if (command.uid.rfind("map=", 0) == 0)
    credentials = std::make_unique<CredentialMap>(CredentialMap::from_file(command.uid.substr(4)));
  std::string url = command.target;
  if (url.empty()) url = "./fsreplay-data";
  if (!command.force) refuse_captured_place(url, input->header());
  target = open_target(
      url, {.clock = &clock, .privileged = command.privileged, .impersonate = credentials != nullptr, .force = command.force});
  report.target = target->name();
  if (report.target.starts_with("file:")) report.target_mount = mount_text(report.target.substr(5));
  if (command.cleanup && target->places_files())
    throw std::runtime_error(target->name() + ": has no tree, so there is nothing to clean up");
}

void Replay::warn() {
  const std::string warning = input->warning();
  if (warning.empty() || !cluster.root()) return;
  line.clear();
  fmt::print(stderr, "fsreplay: {}\n", warning);
}

// Begins the trace of this replay: of the input's own, what does not depend on where it ran.
void Replay::start_recording() {
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
  header.edits.push_back(fmt::format("fsreplay {} of {}", input->settings(), of.id.empty() ? command.input : "trace " + of.id));
  recording->start(header, input->before());
}

int Replay::finish() {
  report.interrupted = report.interrupted || stop.load() != 0;
  if (!cluster.root()) return 0;
  if (command.json)
    print_whole(report_json(report, rounds));
  else if (input->rounds() == 1 || report.result.elapsed == 0)
    print_whole(report_text(report));
  return std::max(verdict(report).status, int(failed_afterwards));
}

void Replay::keep_results() {
  if (results) afterwards([&] { report_database(report, *results); });
}

// A line of several, as soon as the round is over.
int Replay::end_round() {
  const std::string told = input->end_round(report);
  if (!cluster.root()) return 0;
  const Verdict v = verdict(report);
  keep_results();
  if (input->rounds() == 1) return v.status;
  if (command.json) rounds.push_back(report);
  if (!command.json) {
    fputs(told.c_str(), stdout);
    for (const std::string& reason : v.reasons) fmt::print("{:>10} not clean: {}\n", "", reason);
    fflush(stdout);
  }
  return v.status;
}

void Replay::tell(const Interval& interval) {
  const SeriesInterval& series = report.series.add(interval);
  if (csv) csv->add(round, series);
  if (metrics) metrics->add(interval, series);
  if (cluster.size() > 1) rank_intervals.add(interval, series);
}

void Replay::give_sign_of_life() {
  if (cluster.size() == 1 || clock.now() < alive_at_ + cluster.beat()) return;
  alive_at_ = clock.now();
  cluster.alive();
}

bool Replay::gather() { return cluster.size() == 1 || gather_results(cluster, *input, report, rank_intervals, rank_clock); }

// What could not be written while the run went on.
void Replay::look_at_files() {
  for (const std::string& failure : {csv ? csv->failure() : "", metrics ? metrics->failure() : ""})
    if (!failure.empty()) afterwards([&] { throw std::runtime_error(failure); });
}

// Reads and checks.
void Replay::make_ready(LifeCycle& life) {
  life.read({.privileged = command.privileged, .owners = credentials != nullptr, .memory = memory_budget()},
            [&](uint64_t done, uint64_t total) {
              line.bar("reading", done, total);
              give_sign_of_life();
            });
  warn();
  life.place_files();
  if (command.dry_run) return;
  check_space(*target, report.image, command.force);
  check_writable(*target, clock, cluster.rank());
}

void Replay::prepare(LifeCycle& life, bool& prepared) {
  if (command.dry_run) return;
  tree_begun = true;
  prepared = life.prepare({.trace_id = target->places_files() ? std::string() : input->header().id,
                           .reuse = command.reuse || again,
                           .workers = command.workers,
                           .credentials = credentials.get()},
                          [&](uint64_t done, uint64_t total) {
                            line.bar("image  ", done, total);
                            give_sign_of_life();
                          });
  if (prepared || cluster.size() == 1) return;
  if (report.interrupted) throw std::runtime_error("interrupted");
  throw std::runtime_error(fmt::format("{} operations failed that prepare the run", format_count(report.prepared.failed)));
}

std::optional<int> Replay::play_round(LifeCycle& life) {
  report.started = wall_clock();
  rank_intervals = {};
  rank_clock = {};
  bool prepared = false;
  on_all([&] { make_ready(life); });
  // Now no rank makes and removes names to try the target: one that vanishes can fail another rank's listing.
  on_all([&] { prepare(life, prepared); });
  if (command.dry_run) return dry_run(*input, *target, report, command.json);
  line.clear();
  if (!prepared) {
    keep_results();
    return finish();
  }
  if (command.prepare_only) {
    fmt::print(stderr, "fsreplay: {} prepared: {} operations, {}, in {}\n", report.target,
               format_count(report.prepared.operations), format_size(report.prepared.bytes),
               format_duration(report.prepared.elapsed));
    return verdict(report).status;
  }
  if (recording) start_recording();
  std::function<int64_t()> meet;
  if (cluster.size() > 1)
    meet = [this] {
      rank_clock.before = cluster.compare_clocks();
      return rank_clock.start = common_start(cluster, rank_clock.before, kLead);
    };
  life.run({.duration = command.duration,
            .workers = command.workers,
            .stop_on_error = command.stop_on_error,
            .credentials = credentials.get(),
            .record = recording.get(),
            .meet = meet,
            .progress =
                [this](const Progress& p) {
                  give_sign_of_life();
                  report.series.add(p);
                  line.replay(p, report.series.intervals(), report.span, report.whole);
                },
            .on_interval = [this](const Interval& interval) { tell(interval); },
            .interval = command.interval});
  line.clear();
  return std::nullopt;
}

int Replay::play_rounds() {
  LifeCycle life(*input, *target, clock, stop, report);
  int status = 0;
  while (input->next_round()) {
    ++round;
    if (std::optional<int> early = play_round(life)) return *early;
    const bool whole = gather();
    if (results) afterwards([&] { life.name_slowest(); });
    status = std::max(status, end_round());
    if (!whole || cluster.any(stop.load() || report.result.stopped_on_error || !report.aftermath.empty())) break;
  }
  if (recording)
    afterwards([&] { recording->finish(!report.result.stopped, report.result.stopped ? "replay stopped" : "replay ended"); });
  afterwards([&] { input->finish_outputs(report); });
  look_at_files();
  return std::max(status, finish());
}

int Replay::play() {
  auto clean_up = [&] {
    if (command.cleanup && tree_begun && !command.prepare_only)
      afterwards([&] { remove_tree(*target, clock, input->header().id, stop); });
  };
  try {
    const int status = !command.find_scale.empty() ? play_search() : command.repeat > 1 ? play_repeats() : play_rounds();
    clean_up();
    return failed_afterwards ? 1 : status;
  } catch (...) {
    clean_up();
    throw;
  }
}

}  // namespace fsr
