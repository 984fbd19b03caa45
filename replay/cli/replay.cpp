// SPDX-License-Identifier: Apache-2.0
#include "cli/replay.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "cli/captured_place.hpp"
#include "cli/checks.hpp"
#include "cli/dry_run.hpp"
#include "trace/bytes.hpp"
#include "util/clock_ns.hpp"
#include "util/environment.hpp"
#include "util/memory.hpp"
#include "util/standard_streams.hpp"
#include "util/units.hpp"

namespace fsr {

constexpr int64_t kLead = 50'000'000;  // ns from the moment at which all ranks are ready to their common start

Replay::Replay(const CommandLine& c, Cluster& all, const std::atomic<int>& s)
    : command(c), cluster(all), stop(s), line(c.quiet, c.status_interval) {
  if (cluster.size() > 1) line.name("rank 0");
  clock.heed(s);
}

void Replay::open_outputs() {
  if (command.dry_run) return;
  if (!command.results.empty()) results = std::make_unique<ResultsDatabase>(command.results);
  const bool several = cluster.size() > 1;
  if (!command.record.empty())
    recording = std::make_unique<Recording>(several ? rank_recording(command.record, cluster.rank()) : command.record);
  if (!cluster.root()) return;
  if (several && recording) ranks_recording = std::make_unique<RankRecordings>(command.record);
  if (!command.csv.empty()) csv = std::make_unique<CsvFile>(command.csv, command.force);
  if (!command.metrics.empty()) metrics = std::make_unique<MetricsFile>(command.metrics, command.input, command.target);
  if (!command.page.empty()) page = std::make_unique<LivePage>(command.page, command.force);
  input->open_outputs();
}

// Returns the dialect of the protocol in parentheses; a URL may leave it to the default.
static std::string dialect_text(const Target& target) {
  return target.mapping() ? fmt::format(" ({})", target.mapping()->name) : "";
}

void Replay::open_target_for_run() {
  std::string url = command.target;
  if (url.empty()) url = "./fsreplay-data";
  if (command.uid == "recorded") credentials = std::make_unique<CredentialMap>();
  if (command.uid.rfind("map=", 0) == 0) {
    const CredentialMap::To to = users_are_principals(url) ? CredentialMap::To::principals : CredentialMap::To::accounts;
    credentials = std::make_unique<CredentialMap>(CredentialMap::from_file(command.uid.substr(4), to));
  }
  if (!command.force) {
    refuse_captured_place(url, input->header());
    if (input->is_live()) refuse_unknown_fuse(url, input->header());
    if (input->leaves_target_alone()) refuse_own_server(url, input->header());
  }
  target = open_target(url, {.clock = &clock,
                             .privileged = command.privileged,
                             .impersonate = credentials != nullptr,
                             .force = command.force,
                             .principals = credentials ? credentials->principals() : std::vector<std::string>()});
  report.target = target->name();
  if (report.target.find("://") != report.target.npos) report.target += dialect_text(*target);
  if (report.target.starts_with("file:")) report.target_mount = mount_text(report.target.substr(5));
  if (command.cleanup && target->places_files())
    throw std::runtime_error(target->name() + ": has no tree that --cleanup could remove; leave --cleanup out");
}

void Replay::warn() {
  const std::string warning = input->warning();
  if (warning.empty() || !cluster.root()) return;
  line.clear();
  fmt::print(stderr, "fsreplay: {}\n", warning);
}

// Makes the header of the recording. It takes over what does not depend on the host from the input's header.
TraceHeader Replay::recording_header() const {
  const TraceHeader& of = input->header();
  TraceHeader header;
  header.id = random_trace_id();
  header.epoch = clock_ns(CLOCK_REALTIME);
  header.clock_unit = of.clock_unit;
  header.program = "fsreplay " FSR_VERSION;
  utsname machine;
  if (uname(&machine) == 0) header.host = machine.nodename, header.kernel = machine.release;
  header.directory = header.mount_source = target->name();
  header.visibility = "what the replayer issued";
  header.edits = of.edits;
  header.edits.push_back(fmt::format("fsreplay {} of {}", input->settings(), of.id.empty() ? command.input : "trace " + of.id));
  return header;
}

void Replay::finish_recording() {
  const bool whole = !report.result.stopped;
  afterwards([&] { recording->finish(whole, whole ? "replay ended" : "replay stopped"); });
  if (cluster.size() == 1) return;
  if (whole_)
    afterwards([&] { merge_recordings(); });
  else
    afterwards([&] {
      throw std::runtime_error(
          fmt::format("{}: not written, because a rank was lost; {} and so on hold the operations of each rank", command.record,
                      rank_recording(command.record, 0)));
    });
}

// Collective.
void Replay::merge_recordings() {
  const std::string own = rank_recording(command.record, cluster.rank());
  RankRecordings::Plan plan{
      .header = recording_header(), .initial = input->before(), .ids_differ = input->ids_differ(), .began = {}};
  ByteWriter began;
  began.svarint(report.result.began - rank_clock.start);
  for (const std::string& text : cluster.gather(began.view())) plan.began.push_back(ByteReader(text).svarint());
  if (!plan.began.empty())
    for (const int64_t first = std::ranges::min(plan.began); int64_t & at : plan.began) at -= first;
  std::vector<int> files = collect_recordings(cluster, own);
  if (ranks_recording) ranks_recording->write(std::move(files), std::move(plan));
  unlink(own.c_str());
}

int Replay::finish() {
  report.interrupted = report.interrupted || stop.load() != 0;
  if (!cluster.root()) return 0;
  if (command.json)
    report_json(report, rounds, print_whole);
  else if (input->rounds() == 1 || report.result.elapsed == 0)
    print_whole(report_text(report));
  return worse_status(verdict(report).status, int(failed_afterwards));
}

void Replay::keep_results() {
  if (results) afterwards([&] { report_database(report, *results); });
  if (page) afterwards([&] { page->end_run(report); });
}

// Prints a line for one of several rounds, as soon as it is over.
int Replay::end_round() {
  const std::string round_text = input->end_round(report);
  if (!cluster.root()) return 0;
  const Verdict v = verdict(report);
  keep_results();
  if (input->rounds() == 1) return v.status;
  if (command.json) rounds.push_back(report);
  if (!command.json) {
    fputs(round_text.c_str(), stdout);
    for (const std::string& reason : v.reasons) fmt::print("{:>10} not clean: {}\n", "", reason);
    for (const std::string& missed : v.missed) fmt::print("{:>10} {}\n", "", missed);
    fflush(stdout);
  }
  return v.status;
}

void Replay::report_interval(const Interval& interval) {
  const SeriesInterval& series = report.series.add(interval);
  if (cluster.size() == 1)
    follow(interval, series);
  else
    exchange->add(interval, series);
}

void Replay::follow(const Interval& interval, const SeriesInterval& series) {
  input->describe_so_far(report);
  if (cluster.size() == 1) report.counters = target->counters();
  if (csv) csv->add(round, series);
  if (metrics) metrics->add(interval, series, report.sections, report.counters);
  if (page) page->add(interval, series, report);
}

// Brings up to date what the verdict on the run so far needs.
void Replay::tell_so_far(const Progress& progress) {
  RunResult& result = report.result;
  result.unanswered = progress.unanswered;
  for (size_t kind = 0; kind < kOpKinds; ++kind) {
    result.kinds[kind].impossible = progress.impossible[kind];
    result.kinds[kind].refused = progress.refused[kind];
  }
}

void Replay::send_heartbeat() {
  if (cluster.size() == 1 || clock.now() < alive_at_ + cluster.heartbeat_interval()) return;
  alive_at_ = clock.now();
  cluster.send_heartbeat();
}

// Ends the run as a stop signal does: the root may have cleaned up, so that what this rank creates would remain.
void Replay::end_if_dismissed() {
  if (cluster.dismissed() && stop.load() == 0) raise(SIGTERM);
}

void Replay::gather() {
  if (cluster.size() == 1) return;
  exchange->finish();
  whole_ = gather_results(cluster, *input, report, &*exchange, rank_clock);
}

// Handles a rank that was lost before or between rounds. In the first round there is nothing to report; later, the results so far
// are kept.
void Replay::lost_between(const LostRank& lost) {
  if (round == 1) throw lost;
  report = latest_;
  end_without(lost);
}

void Replay::end_without(const LostRank& lost) {
  if (!cluster.root()) throw lost;
  whole_ = false;
  failed_afterwards = true;
  report.aftermath = fmt::format("{}, before the run was complete", lost.what());
  line.clear();
  fmt::print(stderr, "fsreplay: {}\n", report.aftermath);
}

bool Replay::over(bool mine) {
  if (!whole_) return true;
  try {
    return cluster.any_of_ranks(mine || stop.load() != 0);
  } catch (const LostRank& e) {
    end_without(e);
    return true;
  }
}

// Reports errors of files that were written during the run.
void Replay::look_at_files() {
  for (const std::string& failure : {csv ? csv->failure() : "", metrics ? metrics->failure() : "", page ? page->failure() : ""})
    if (!failure.empty()) afterwards([&] { throw std::runtime_error(failure); });
}

// Reads the input and checks the target.
void Replay::make_ready(RunSteps& steps) {
  steps.read({.privileged = command.privileged, .owners = credentials != nullptr, .memory = memory_budget()},
             [&](uint64_t done, uint64_t total) {
               line.bar("reading", done, total);
               send_heartbeat();
             });
  warn();
  steps.place_files();
  if (command.dry_run) return;
  check_space(*target, report.image, command.force);
  if (!input->leaves_target_alone()) check_writable(*target, clock, cluster.rank());
}

void Replay::prepare_tree(RunSteps& steps, bool& prepared) {
  if (cluster.size() == 1 || !input->shares_tree()) return on_all([&] { prepare(steps, PrepareStep::all, prepared); });
  for (PrepareStep step : {PrepareStep::contents, PrepareStep::look_up, PrepareStep::seal, PrepareStep::open})
    on_all([&] {
      const bool of_root = step == PrepareStep::contents || step == PrepareStep::seal, of_others = step == PrepareStep::look_up;
      if (cluster.root() ? !of_others : !of_root) prepare(steps, step, prepared);
    });
}

void Replay::prepare(RunSteps& steps, PrepareStep step, bool& prepared) {
  if (command.dry_run) return;
  tree_begun = true;
  prepared = steps.prepare(
      {.step = step,
       .trace_id = target->places_files() || beside_others || input->leaves_target_alone() ? std::string() : input->header().id,
       .marks = cluster.root(),
       .reuse = command.reuse || again,
       .workers = command.workers,
       .credentials = credentials.get()},
      [&](uint64_t done, uint64_t total) {
        line.bar("image  ", done, total);
        send_heartbeat();
      });
  if (prepared || (cluster.size() == 1 && !again)) return;
  if (report.interrupted) throw std::runtime_error("interrupted");
  throw std::runtime_error(fmt::format("{} operations that prepare the run failed", format_count(report.prepared.failed)));
}

// Returns the length of the intervals of a run, the same on all ranks. Collective. The results of a short run have 200 intervals,
// which show more than its few seconds. A schedule of many hours has kMost, which bounds their memory. Files that other programs
// read during a run keep their rows of a second.
int64_t Replay::interval_length() {
  constexpr int64_t kUsual = 1'000'000'000, kShortest = 10'000'000;  // ns
  constexpr int64_t kSteps = 200, kStepsOfCapture = 1000;            // a run without a schedule is faster than its capture
  constexpr int64_t kMost = 7200;                                    // intervals of a schedule
  if (command.interval) return command.interval;
  const int64_t steps = report.span > 0 ? report.span / kSteps : report.recorded_span / kStepsOfCapture;
  const bool rows = !command.csv.empty() || !command.metrics.empty() || (command.results.empty() && command.page.empty());
  const int64_t longest = ((report.span - 1) / (kMost * kUsual) + 1) * kUsual;  // whole seconds
  const int64_t length = rows || steps == 0 ? kUsual : std::clamp(steps, kShortest, longest);
  return cluster.size() == 1 ? length : int64_t(of_root(double(length)));
}

// Returns which intervals the report has. Intervals without a reader would fill the memory in a run without an end.
TimeSeries::Rows Replay::rows_of_report() const {
  if (!command.json && command.results.empty() && command.page.empty()) return TimeSeries::Rows::none;
  return command.interval ? TimeSeries::Rows::all : TimeSeries::Rows::bounded;
}

std::optional<int> Replay::run_round(RunSteps& steps) {
  report.started = clock_ns(CLOCK_REALTIME);
  rank_clock = {};
  bool prepared = false;
  on_all([&] { make_ready(steps); });
  // From here on, no rank makes and removes names to check the target. A name that disappears can make another rank's listing
  // fail.
  prepare_tree(steps, prepared);
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
  if (recording) recording->start(recording_header(), input->before());
  const int64_t length = interval_length();
  std::function<int64_t()> meet;
  if (cluster.size() > 1) {
    meet = [this] {
      rank_clock.before = cluster.compare_clocks();
      return rank_clock.start = common_start(cluster, rank_clock.before, kLead);
    };
    exchange.emplace(
        cluster, round, length, rows_of_report(),
        [this](const Interval& interval, const SeriesInterval& series) {
          if (follows()) follow(interval, series);
        },
        [this](const std::string& what) {
          line.clear();
          fmt::print(stderr, "fsreplay: {}\n", what);
        });
  }
  if (cluster.root() && (results || page)) input->keep_names();
  report.series = TimeSeries(cluster.size() > 1 ? TimeSeries::Rows::none : rows_of_report());
  steps.run({.duration = command.duration,
             .workers = command.workers,
             .stop_on_error = command.stop_on_error,
             .credentials = credentials.get(),
             .record = recording.get(),
             .meet = meet,
             .progress =
                 [this](const Progress& p) {
                   send_heartbeat();
                   if (exchange) exchange->move();
                   end_if_dismissed();
                   report.series.add(p);
                   if (cluster.size() == 1) tell_so_far(p);
                   line.replay(p, report.series.latest(), report.span, report.whole);
                 },
             .on_interval = [this](const Interval& interval) { report_interval(interval); },
             .interval = length});
  line.clear();
  return std::nullopt;
}

// Finds paths for the report, if it describes single operations.
void Replay::name_operations(RunSteps& steps) {
  if (cluster.root() && (results || page || !report.result.mismatches.empty()))
    afterwards([&] { steps.name_operations(results || page); });
}

int Replay::run_rounds() {
  RunSteps steps(*input, *target, clock, stop, report);
  int status = 0;
  while (input->next_round()) {
    ++round;
    try {
      if (std::optional<int> early = run_round(steps)) return *early;
    } catch (const LostRank& e) {
      lost_between(e);
      break;
    }
    gather();
    report.series.set_due(report.result.due, report.options.interval);
    if (metrics) metrics->finish(report.result);
    name_operations(steps);
    status = worse_status(status, end_round());
    if (cluster.size() > 1 && input->rounds() > 1) latest_ = report;
    if (over(report.result.stopped_on_error || !report.aftermath.empty())) break;
  }
  if (recording) finish_recording();
  afterwards([&] { input->finish_outputs(report); });
  look_at_files();
  return worse_status(status, finish());
}

int Replay::run() {
  auto clean_up = [&] {
    if (command.cleanup && tree_begun && !command.prepare_only && cluster.root())
      afterwards([&] {
        if (!target) open_target_for_run();  // it could not be opened for another run
        remove_tree(*target, clock, input->header().id, stop);
      });
  };
  try {
    const int status = !command.find_scale.empty() ? run_search() : command.repeat > 1 ? run_repeats() : run_rounds();
    if (command.cleanup && whole_) cluster.barrier();  // no rank works in the tree any more
    clean_up();
    if (page) afterwards([&] { page->finish(); });
    return worse_status(status, int(failed_afterwards));
  } catch (...) {
    clean_up();
    throw;
  }
}

}  // namespace fsr
