// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/run/vdbench.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/clock.hpp"
#include "cluster/rank_group.hpp"
#include "trace/bytes.hpp"
#include "util/clock_ns.hpp"
#include "util/standard_streams.hpp"
#include "workloads/vdbench/language/keyword.hpp"
#include "workloads/vdbench/pages/run_page.hpp"
#include "workloads/vdbench/run/file_runs.hpp"
#include "workloads/vdbench/run/host_mounts.hpp"
#include "workloads/vdbench/run/program_plan.hpp"
#include "workloads/vdbench/run/raw_runs.hpp"

namespace fsr::vdbench {

namespace {

class VdbenchProgram {
 public:
  // `plan` must outlive this.
  VdbenchProgram(const ProgramOptions& options, ProgramPlan& plan, Cluster& cluster, const std::atomic<int>& stop)
      : options_(options), plan_(plan), cluster_(cluster), stop_(stop), ranks_(cluster, stop) {
    clock_.heed(stop);
  }

  int simulate() const {
    const std::string again = plan_.repeats.times == 1 ? ""
                              : plan_.repeats.times    ? fmt::format("all runs {} times\n", plan_.repeats.times)
                              : plan_.repeats.seconds  ? fmt::format("all runs again for {} seconds\n", plan_.repeats.seconds)
                                                       : "all runs again until stopped\n";
    fmt::print("{}{}{}Vdbench simulation completed successfully.\n", vdbench::simulate(plan_.runs), sizes_of_trees(plan_.runs),
               again);
    return 0;
  }

  int run() {
    std::string directory;    // only on the root
    nlohmann::json document;  // of --json
    cluster_.on_all([&] {
      if (cluster_.root()) directory = make_output_directory(options_.output);
    });
    Reports reports({.general = plan_.all.general,
                     .directory = directory,
                     .quiet = options_.quiet || options_.json,
                     .hosts = hosts_of_ranks(plan_.hosts, plan_.all.hosts, cluster_.hosts()),
                     .layout = layout_of(options_.layout),
                     .json = options_.json ? &document : nullptr,
                     .other = options_.results},
                    plan_.runs, plan_.lines, plan_.statements);
    reports.note("Created output directory '" + directory + "'");
    note_passed_over(reports);
    if (cluster_.root() && !take_monitor_word(plan_.all.general.monitor).empty())
      reports.note(fmt::format("monitor={}: emptied, because it held a word from before", plan_.all.general.monitor));
    reports_ = &reports;
    open({});
    if (plan_.all.general.validation.only_recovers) plan_.runs.clear();
    std::string failure;
    try {
      recover(reports);
      commands(plan_.all.general.start, reports);
      for (const PlannedRun& planned : runs_->formats()) perform(planned);
      all_rounds(reports);
      commands(plan_.all.general.end, reports);
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
    if (options_.json) print_whole(document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    const uint64_t errors = errors_before_ + (runs_ ? runs_->errors() : 0) + errors_of_others_;
    if (failure.empty() && errors) failure = fmt::format("{} errors: see {}/errorlog.html", errors, directory);
    if (failure.empty()) {
      reports.finish(fmt::format("Vdbench execution completed successfully. Output directory: {}", directory));
      return 0;
    }
    reports.finish("Vdbench ended: " + failure);
    fmt::print(stderr, "{}: {}\n", options_.program, failure);
    return 1;
  }

 private:
  // Recovers on all ranks, and reports on the root what went wrong on any of them.
  void recover(Reports& reports) {
    std::string failure;
    try {
      runs_->recover();
    } catch (const std::runtime_error& e) {
      failure = e.what();
    }
    if (!ranks_.several()) {
      if (!failure.empty()) throw std::runtime_error(failure);
      return;
    }
    ByteWriter mine;
    mine.varint(runs_->errors());
    mine.varint(runs_->recovery_notes().size());
    for (const std::string& note : runs_->recovery_notes()) mine.text(note);
    for (const std::string& error : reports.take_errors()) mine.text(error);
    const std::vector<std::string> all = cluster_.gather(mine.view());
    for (unsigned rank = 1; rank < all.size(); ++rank) {
      ByteReader in(all[rank]);
      errors_of_others_ += in.varint();
      for (uint64_t notes = in.varint(); notes > 0 && in.ok(); --notes)
        reports.note(fmt::format("{}: {}", cluster_.name_of(rank), in.text()));
      while (in.ok() && in.left() != 0) reports.error(fmt::format("{}: {}", cluster_.name_of(rank), in.text()));
    }
    cluster_.on_all([&] {
      if (!failure.empty()) throw std::runtime_error(failure);
    });
  }

  // Reports parameters of hd= that have no meaning here.
  void note_passed_over(Reports& reports) const {
    for (const Statement& statement : plan_.statements) {
      if (!same_word(statement.parameters[0].keyword, "hd")) continue;
      std::string words;
      for (const Parameter& p : statement.parameters)
        for (const char* word : {"vdbench", "shell", "user", "master"})
          if (is_short_for(p, word)) words += fmt::format("{}{}=", words.empty() ? "" : ", ", word);
      if (!words.empty())
        reports.note(fmt::format("hd={}: {} passed over, because mpirun or --ranks starts the ranks",
                                 statement.parameters[0].values[0].text, words));
    }
  }

  // Opens everything on all ranks. `mount`: options for mount=, as of mount_on_host(). The root goes first, then the first rank
  // of each host, because they mount, and make missing files.
  void open(const std::string& mount) {
    const Runs::Program program{plan_.all, clock_, stop_, *reports_, ranks_, plan_.hosts, performed_, options_.force};
    if (plan_.all.files())
      runs_ = std::make_unique<FileRuns>(program);
    else
      runs_ = std::make_unique<RawRuns>(program);
    const unsigned rank = cluster_.rank(), own_turn = cluster_.root() ? 0 : plan_.hosts.first_of_host(rank) ? 1 : 2;
    for (unsigned turn = 0; turn < 3; ++turn)
      cluster_.on_all([&] {
        if (turn != own_turn) return;
        if (turn < 2) mount_on_host(plan_.all.hosts, plan_.hosts.host_of(rank), mount);
        runs_->open(plan_.runs);
      });
    cluster_.on_all([&] { runs_->share(); });
  }

  // Closes everything, and opens it again with other options of mount=. Not behind the run's own format, whose files it may lose.
  void remount(const PlannedRun& planned) {
    const std::string& mount = planned.run->mount;
    const Run* formatted = std::exchange(formatted_, planned.formats ? planned.run : nullptr);
    if (mount.empty() || (!planned.formats && formatted == planned.run)) return;
    errors_before_ += runs_->errors();
    runs_.reset();
    cluster_.barrier();  // a host's ranks have closed what its first one unmounts
    open(mount);
    for (const PlannedRun& format : runs_->formats()) perform(format);
  }

  // Runs commands on the root, while the other ranks wait.
  void commands(const Commands& commands, Reports& reports) {
    if (commands.empty()) return;
    cluster_.on_all([&] {
      ranks_.work([&] {
        if (cluster_.root()) run_commands(commands, reports);
      });
    });
  }

  // True if no rank has to stop.
  bool goes_on() {
    stopped_ = stopped_ || cluster_.any_of_ranks(stop_.load() != 0);
    ends_all_ = cluster_.any_of_ranks(ends_all_);  // at first, only the root knows
    return !stopped_ && !ends_all_;
  }

  // Returns on all ranks what the root knows.
  template <class T>
  T of_root(T known) {
    const std::string from_root = cluster_.broadcast({reinterpret_cast<const char*>(&known), sizeof known});
    memcpy(&known, from_root.data(), sizeof known);
    return known;
  }

  void all_rounds(Reports& reports) {
    const int64_t end = clock_.now() + plan_.repeats.seconds * kSecond;
    for (uint64_t round = 1; !plan_.runs.empty(); ++round) {
      if (round > 1) reports.note(fmt::format("Loop {} of all runs", round));
      for (const PlannedRun& planned : plan_.runs) perform(planned);
      const bool enough = round == plan_.repeats.times || (plan_.repeats.seconds && clock_.now() >= end);
      if (of_root(enough) || !goes_on()) return;
    }
  }

  void perform(const PlannedRun& as_planned) {
    if (!goes_on()) return;
    Reports& reports = *reports_;
    const PlannedRun planned = at_percentage(as_planned, achieved_);
    check_rest(planned);
    if (!std::exchange(first_, false)) pause(planned.run->pause);
    for (const std::string& note : planned.notes) reports.note(note);
    if (!planned.formats) commands(planned.run->start, reports);
    remount(planned);
    const RunRecord record = runs_->perform(planned, &ends_all_);
    if (!planned.formats) achieved_ = of_root(rate(record.average.all.requested, record.average.seconds));
    check_skew(record);
    if (planned.rate.kind == Rate::curve) curve(record);
    if (!planned.formats && planned.rate.kind != Rate::curve) commands(planned.run->end, reports);
  }

  // Throws if WDs with rates of their own take all of a rate that the last run decided. Other rates were checked before.
  static void check_rest(const PlannedRun& run) {
    double own = 0;
    for (const RawWork& work : run.raw_works) own += work.rate;
    if (run.rate.kind == Rate::fixed && own > 0 && own >= run.rate.value &&
        std::ranges::any_of(run.raw_works, [](const RawWork& work) { return work.rate == 0; }))
      throw_error("rd={}: iorate={:g} leaves nothing beside the {:g} of WDs with rates of their own", run.name, run.rate.value,
                  own);
  }

  // Ends everything if a workload missed its share by more than abort_failed_skew=.
  void check_skew(const RunRecord& record) {
    const double limit = plan_.all.general.skew_limit;
    if (limit == 0 || record.run->formats) return;
    const double worst = of_root(worst_skew(record));
    if (worst > limit)
      throw_error("rd={}: a workload missed its share by {:.2f} %, more than abort_failed_skew={:g}: see skew.html",
                  record.run->name, worst, limit);
  }

  // Runs the points of a curve, whose rates are shares of the measured highest rate.
  void curve(const RunRecord& highest) {
    for (const PlannedRun& point : curve_runs(*highest.run, achieved_)) {
      if (!goes_on()) return;
      const RunRecord record = runs_->perform(point, &ends_all_);
      const double stop_at = point.run->stop_curve;
      if (stop_at <= 0 || !of_root(mean_ms(record.average.all.requested) >= stop_at)) continue;
      reports_->note(fmt::format("rd={}: the response time reached stopcurve={:g}", point.name, stop_at));
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
  ProgramPlan& plan_;
  Cluster& cluster_;
  const std::atomic<int>& stop_;
  RankGroup ranks_;
  MonotonicClock clock_;
  Reports* reports_ = nullptr;      // of the present run()
  std::unique_ptr<Runs> runs_;      // null while all is closed
  const Run* formatted_ = nullptr;  // RD that the run before formatted for
  uint64_t performed_ = 0;          // runs so far
  uint64_t errors_before_ = 0;      // of Runs that were closed
  uint64_t errors_of_others_ = 0;   // that recovery found on other ranks
  double achieved_ = 0;             // operations per second of the previous run that was no format
  bool first_ = true, ends_all_ = false, stopped_ = false;
};

}  // namespace

int run_vdbench(const ProgramOptions& options, Cluster& cluster, const std::atomic<int>& stop) {
  const std::unique_ptr<ProgramPlan> plan = read_plan(options, cluster);
  const std::string text = fmt::format("{}", fmt::join(plan->lines, "\n")), of_root = cluster.broadcast(text);
  cluster.on_all([&] {
    if (text != of_root) throw std::runtime_error("has other parameter files than rank 0; use the same files on all ranks");
  });
  VdbenchProgram program(options, *plan, cluster, stop);
  if (!options.simulate) return program.run();
  return cluster.root() ? program.simulate() : 0;
}

}  // namespace fsr::vdbench
