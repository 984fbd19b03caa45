// SPDX-License-Identifier: Apache-2.0
// NFSTEST/MPI: all ranks write files, then read files of each other, repeatedly for each size.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "workloads/nfstest/rank_work.hpp"
#include "workloads/nfstest/settings.hpp"
#include "workloads/nfstest/stage_report.hpp"

namespace fsr {
class Clock;
class ThreadRunner;
class Target;
}  // namespace fsr

namespace fsr::nfstest {

// Result of one stage of all ranks.
struct StageResult {
  uint64_t iteration = 0;
  uint64_t size = 0;  // units of a file
  bool writes = false;
  double seconds = 0;                // on the root, between the barriers before and after the stage
  std::vector<StageReport> reports;  // by rank
};

// End of a test.
struct Ending {
  double seconds = 0;  // duration of all stages and the time between them
  bool interrupted = false;
  std::vector<std::string> failures;  // one line each, with the name of the rank
};

// Callbacks on the root during the test.
struct Listener {
  std::function<void(uint64_t iteration, uint64_t size)> starting;
  std::function<void(const StageResult&)> ended;  // called when a stage has succeeded on all ranks
};

class Nfstest {
 public:
  // All must outlive this. `stop`: as RunnerOptions::stop.
  Nfstest(Cluster& cluster, ThreadRunner& stage, Target& target, Clock& clock, const Settings& settings,
          const std::atomic<int>& stop)
      : cluster_(cluster), runner_(stage), target_(target), clock_(clock), settings_(settings), stop_(stop) {}

  // Runs the test; call this once, on all ranks. The result is meant for the root. `sizes`: of files, units. Removes the files in
  // any case.
  Ending run(const std::vector<uint64_t>& sizes, const RankRole& role, const Listener& listener);

 private:
  void take_turns(RankWork& work, const std::vector<uint64_t>& sizes, const Listener& listener);
  bool perform(RankWork& work, StageResult result, const Listener& listener);
  bool judge(const StageResult& result);
  StageReport run_stage(RankWork& work, WorkThread::Stage stage, const std::atomic<int>* stop);
  void clean_up(RankWork& work);
  void take_reads(StageReport* report);
  void note_failure(unsigned rank, const std::string& what);

  Cluster& cluster_;
  ThreadRunner& runner_;
  Target& target_;
  Clock& clock_;
  const Settings& settings_;
  const std::atomic<int>& stop_;
  uint64_t wire_reads_ = 0;  // number of READ requests so far
  bool left_ = false;        // true: a thread did not end
  int lost_ = -1;            // the lost rank; -1: none
  Ending ending_;
};

}  // namespace fsr::nfstest
