// SPDX-License-Identifier: Apache-2.0
#include "workloads/nfstest/nfstest.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "threads/thread_runner.hpp"

namespace fsr::nfstest {

void Nfstest::note_failure(unsigned rank, const std::string& what) {
  const std::string who = cluster_.name_of(rank);
  ending_.failures.push_back(who.empty() ? what : who + ": " + what);
}

void Nfstest::take_reads(StageReport* report) {
  const auto requests = target_.requests();
  const auto reads = std::find_if(requests.begin(), requests.end(), [](const auto& r) { return r.first == "read"; });
  const uint64_t before = std::exchange(wire_reads_, reads == requests.end() ? 0 : reads->second);
  if (!report) return;
  report->counted = !requests.empty();
  report->wire_reads = wire_reads_ - before;
}

StageReport Nfstest::run_stage(RankWork& work, WorkThread::Stage stage, const std::atomic<int>* stop) {
  std::vector<SimThreadSpec> parts;
  parts.push_back({std::make_unique<WorkThread>(work, stage), 0, 0});
  RunnerOptions options;
  options.interval = cluster_.heartbeat_interval();
  std::optional<LostRank> lost;
  std::atomic<bool> over = false;
  options.on_interval = [&](const Interval&) {
    cluster_.send_heartbeat();
    if (!stop) return;
    try {
      cluster_.listen();
    } catch (const LostRank& e) {
      lost = e;
      over = true;
    }
  };
  options.stop = stop;
  options.over = &over;
  RunnerResult measured = runner_.run(parts, options);
  left_ = left_ || measured.abandoned != 0;
  if (lost) throw *lost;
  StageReport report = work.take_report();
  report.interrupted = stop && stop->load() != 0;  // the stage checks for a stop too rarely for short runs
  report.counts = std::move(measured.counts);
  return report;
}

// Records errors of a stage. Returns true if the test goes on. Root only.
bool Nfstest::judge(const StageResult& result) {
  bool fine = true;
  for (unsigned rank = 0; rank < result.reports.size(); ++rank) {
    const StageReport& report = result.reports[rank];
    if (!report.error.empty()) note_failure(rank, report.error);
    ending_.interrupted = ending_.interrupted || report.interrupted;
    fine = fine && report.error.empty() && !report.interrupted;
  }
  return fine;
}

// Runs one stage. Returns true if the test goes on.
bool Nfstest::perform(RankWork& work, StageResult result, const Listener& listener) {
  cluster_.barrier();
  const int64_t from = clock_.now();
  StageReport mine = run_stage(work, result.writes ? &RankWork::write : &RankWork::read, &stop_);
  cluster_.gather("");
  result.seconds = double(std::max<int64_t>(clock_.now() - from, 1)) / 1e9;
  take_reads(&mine);
  for (const std::string& saved : cluster_.gather(mine.save())) result.reports.push_back(StageReport::load(saved));
  const bool goes_on = !cluster_.root() || judge(result);
  if (cluster_.root() && goes_on) listener.ended(result);
  return !cluster_.broadcast(goes_on ? "y" : "").empty();
}

void Nfstest::take_turns(RankWork& work, const std::vector<uint64_t>& sizes, const Listener& listener) {
  take_reads(nullptr);
  for (uint64_t iteration = 0; iteration < settings_.repeat; ++iteration) {
    for (uint64_t size : sizes) {
      work.set_size(size);
      if (cluster_.root()) listener.starting(iteration, size);
      if (!perform(work, {.iteration = iteration, .size = size, .writes = true}, listener)) return;
      if (!perform(work, {.iteration = iteration, .size = size, .writes = false}, listener)) return;
    }
  }
}

void Nfstest::clean_up(RankWork& work) {
  StageReport mine;
  if (left_) {
    mine.error = "operations in flight did not end; files nfstest.* may be left behind";
  } else {
    mine = run_stage(work, &RankWork::remove, nullptr);
    if (lost_ >= 0 && cluster_.root()) {
      work.set_lost(unsigned(lost_));
      run_stage(work, &RankWork::remove_lost, nullptr);
    }
  }
  if (lost_ >= 0) return;
  const std::vector<std::string> errors = cluster_.gather(mine.error);
  for (unsigned rank = 0; rank < errors.size(); ++rank)
    if (!errors[rank].empty()) note_failure(rank, errors[rank]);
}

Ending Nfstest::run(const std::vector<uint64_t>& sizes, const RankRole& role, const Listener& listener) {
  RankRole own = role;
  own.overdue = [this] { return cluster_.overdue(); };
  RankWork work(settings_, own);
  const int64_t from = clock_.now();
  auto until_lost = [this](auto act) {
    try {
      act();
    } catch (const LostRank& e) {
      lost_ = int(e.rank);
      ending_.failures.push_back(e.what());
    }
  };
  until_lost([&] { take_turns(work, sizes, listener); });
  ending_.seconds = double(clock_.now() - from) / 1e9;
  until_lost([&] { clean_up(work); });
  return ending_;
}

}  // namespace fsr::nfstest
