// SPDX-License-Identifier: Apache-2.0
// The messages between ranks during a run, and their results at the end. The root receives intervals and failures. It sends when
// the run is over and which trees have their directories. A single rank sends messages only to itself.
//
// Main thread, unless said otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/rank_group.hpp"
#include "cluster/round_merger.hpp"
#include "measure/interval.hpp"
#include "workloads/vdbench/error_log.hpp"
#include "workloads/vdbench/files/blocked.hpp"
#include "workloads/vdbench/pages/figures.hpp"

namespace fsr::vdbench {

// The part of a rank in a run.
struct RankPart {
  double seconds = 0;
  uint64_t operations = 0, failed = 0, bytes = 0, errors = 0;
  uint64_t threads = 0, read = 0, written = 0;  // bytes
  Events events{};
  std::string save() const;
  static RankPart load(std::string_view saved);  // throws std::runtime_error for bytes that save() did not make
};

class RankMessages {
 public:
  using TellInterval = std::function<void(const Interval&)>;
  // All outlive it. `over`: whether the run is to end, which the root makes so on all ranks. `works` of a format have trees.
  RankMessages(RankGroup& ranks, std::atomic<bool>& over, const std::atomic<int>& stop, size_t works, bool formats);
  ~RankMessages();

  // Where the ErrorLog tells of failures: any thread. On the root, `told` is called.
  void error(const std::string& line, const ErrorPlace& place, const ErrorLog::Tell& told);
  // Performs on all ranks from one moment on. On the root, `tell` is called for the intervals of all together, and the errors of
  // others are added to the log.
  void perform(const std::function<void()>& act, ErrorLog& errors, TellInterval tell);
  void interval(const Interval& told);  // while `act` performs, any thread
  void end();                           // on all ranks; as interval()
  // In a format the root makes the directories of all trees, for which the others wait; any thread.
  bool makes_directories() const { return ranks_.cluster().root(); }
  void made_directories(size_t work);
  bool directories_made(size_t work) const { return directories_[work]; }

  // On the root: completes the record with what all came to.
  void gather(RankPart mine, RunRecord& record);
  // After gather(): what can't be gone on with on one rank throws std::runtime_error on all, and so does a rank that is lost.
  void check(const std::function<void()>& checks);

 private:
  class Part;
  std::string answer(const std::vector<std::string>& told);
  void hear(const std::string& answer);
  void take(unsigned rank, std::string_view told);
  void tell_complete(bool left);

  RankGroup& ranks_;
  std::atomic<bool>& over_;
  const std::atomic<int>& stop_;
  const bool formats_;
  std::deque<std::atomic<bool>> directories_;  // of works
  TellInterval tell_;
  ErrorLog* errors_ = nullptr;
  uint64_t errors_of_others_ = 0;  // in the log
  std::unique_ptr<RoundMerger<Part>> parts_;
  unsigned intervals_ = 0;
};

}  // namespace fsr::vdbench
