// SPDX-License-Identifier: Apache-2.0
// NFSTEST/MPI: all ranks write files, then read each other's; for each size, again and again.
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

// One stage of all ranks.
struct StageResult {
  uint64_t iteration = 0;
  uint64_t size = 0;  // of a file, units
  bool writes = false;
  double seconds = 0;                // on the root, from when all had come to when all had done
  std::vector<StageReport> reports;  // by rank
};

// How a test ended.
struct Ending {
  double seconds = 0;  // of all stages and what is between them
  bool interrupted = false;
  std::vector<std::string> failures;  // each a line that names its rank
};

// Callbacks on the root during the test.
struct Listener {
  std::function<void(uint64_t iteration, uint64_t size)> starting;
  std::function<void(const StageResult&)> ended;  // a stage, well on all ranks
};

class Nfstest {
 public:
  // All outlive it. `stop`: as RunnerOptions has it.
  Nfstest(Cluster& cluster, ThreadRunner& stage, Target& target, Clock& clock, const Settings& settings,
          const std::atomic<int>& stop)
      : cluster_(cluster), runner_(stage), target_(target), clock_(clock), settings_(settings), stop_(stop) {}

  // Once, on all ranks; the ending is of use on the root. `sizes`: of files, units. The files are removed in any case.
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
  uint64_t wire_reads_ = 0;  // READ requests so far
  bool left_ = false;        // a thread that did not end
  int lost_ = -1;            // a rank
  Ending ending_;
};

}  // namespace fsr::nfstest
