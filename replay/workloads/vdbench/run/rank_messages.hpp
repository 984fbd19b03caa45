// SPDX-License-Identifier: Apache-2.0
// Messages between ranks during a run, and their results at the end. The root receives intervals and failures. It sends the end
// of the run, and the trees whose directories are complete. A single rank sends messages only to itself.
//
// Main thread, except where a comment says "any thread".
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/rank_group.hpp"
#include "cluster/round_merger.hpp"
#include "measure/cpu_use.hpp"
#include "measure/interval.hpp"
#include "workloads/vdbench/error_log.hpp"
#include "workloads/vdbench/pages/figures.hpp"

namespace fsr::vdbench {

// Part of one rank in a run.
struct RankPart : RankTotals {
  std::vector<std::string> wrong_blocks{};  // ranges of wrong blocks, a line for each
  std::string save() const;
  static RankPart load(std::string_view saved);  // throws std::runtime_error for bytes that save() did not make
};

// Part of one rank in an interval.
struct RankInterval {
  Tally counts;
  CpuUse cpu;             // of its machine
  bool reported = false;  // false: nothing is known about the rank
  unsigned machine = 0;   // number of the first rank on its machine
  void merge(const RankInterval& later);
};

// An interval of a run, on all ranks that have reported it.
struct RunInterval {
  int64_t from = INT64_MAX, to = 0;  // ns since the start of the run
  bool last = false;
  Tally counts;                       // of all ranks
  std::vector<RankInterval> ranks{};  // by rank; empty for a single process
  void merge(const RunInterval& later);
};

class RankMessages {
 public:
  using ReportInterval = std::function<void(const RunInterval&)>;
  // All but `makers` must outlive this. `over`: true ends the run; the root sets it on all ranks. `makers`: in a format, number
  // of ranks that make the directories of each work; otherwise empty.
  RankMessages(RankGroup& ranks, std::atomic<bool>& over, const std::atomic<int>& stop, const std::vector<unsigned>& makers);

  // Reports a failure that the ErrorLog passes on. Any thread. On the root, calls `report`.
  void error(const std::string& line, const ErrorLocation& location, const ErrorLog::ReportError& report);
  // Calls `act` on all ranks, starting at one moment. On the root, passes the intervals of all ranks together to `report`, and
  // adds the errors of other ranks to the log.
  void perform(const std::function<void()>& act, ErrorLog& errors, ReportInterval report);
  void interval(const Interval& counted);  // reports an interval of `act`; any thread
  void end();                              // ends the run on all ranks; any thread
  // In a format, one rank makes the directories of each tree. The others wait for all trees of the work. Any thread.
  void made_directories(size_t work);
  bool directories_made(size_t work) const { return works_[work].missing == 0; }

  // Completes the record with the parts of all ranks, on the root.
  void gather(RankPart mine, RunRecord& record);
  // Call this after gather(). If `checks` throws on a rank, or a rank is lost, throws std::runtime_error on all ranks.
  void check(const std::function<void()>& checks);

 private:
  std::string answer(const std::vector<std::string>& reports);
  void receive(const std::string& answer);
  void take(unsigned rank, std::string_view report);
  void report_complete(bool left);

  RankGroup& ranks_;
  std::atomic<bool>& over_;
  const std::atomic<int>& stop_;
  // Directories of a work.
  struct Directories {
    std::atomic<unsigned> missing;   // trees without them, as far as this rank knows
    std::atomic<bool> made = false;  // by this rank
  };
  std::deque<Directories> works_;  // only in a format
  ReportInterval report_;
  ErrorLog* errors_ = nullptr;
  uint64_t errors_of_others_ = 0;  // errors of other ranks in the log
  RoundMerger<RunInterval> intervals_;
  CpuMeter cpu_;
};

}  // namespace fsr::vdbench
