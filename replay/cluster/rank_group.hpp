// SPDX-License-Identifier: Apache-2.0
// How a program runs on ranks: each does its share by itself, and the root puts together what came of them.
//
//   on_ranks(options, what, [&](Cluster& cluster) {
//     RankGroup ranks(cluster, stop);
//     cluster.on_all([&] { ... });                             // opens what the share needs
//     ranks.work([&] { ... });                                 // on all from one moment on
//     const auto parts = ranks.gather(part);                   // on the root: of all that are left
//     ...
//   });
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/cluster.hpp"

namespace fsr {

// Main thread, but for barrier() and report_to_root().
class RankGroup {
 public:
  // Both outlive it. `stop`: as RunnerOptions has it.
  RankGroup(Cluster& cluster, const std::atomic<int>& stop) : cluster_(cluster), stop_(stop) {}

  Cluster& cluster() const { return cluster_; }
  bool several() const { return cluster_.size() > 1; }
  // To be called again and again during long work on this thread.
  void heartbeat();
  // Does it, on all ranks from one moment on, on a thread of its own, while this one reports to the others that the rank is
  // alive. Throws what it throws. Collective.
  void work(const std::function<void()>& act);
  // When it began on all, ns on this rank's CLOCK_MONOTONIC, and how that differs from the root's.
  int64_t start() const { return start_; }
  const ClockOffset& offset() const { return offset_; }
  // As work(), where act() meets the others.
  void work_with_barriers(const std::function<void()>& act);
  // On any thread of what work_with_barriers() does: goes on when each rank has come here or is done. What it returns is why that
  // won't be.
  std::string barrier();
  // As work(), where act() reports to the root something now and then. `answer`: on the root, what all have reported since the
  // last time, by rank; it is passed to `receive` on each. Both are called on this thread, whenever all have reported something
  // or are done.
  struct ExchangeCallbacks {
    std::function<std::string(const std::vector<std::string>& reports)> answer;
    std::function<void(const std::string& answer)> receive;
    std::function<void()> lost = {};  // a rank, and with it all that follows; may be null
  };
  void work_with_exchange(const std::function<void()>& act, const ExchangeCallbacks& talk);
  // On any thread, waits for nobody. Texts that were not passed on yet follow each other. Not `now`: with the next one.
  void report_to_root(std::string_view text, bool now = true);

  // The part of each rank that is left, by rank, on the root. Part has save() and load(). Collective.
  template <class Part>
  std::vector<std::optional<Part>> gather(const Part& mine);
  // Which ranks were lost and why; from then on there is only this one.
  const std::string& lost() const { return lost_; }
  // That in a line, and how much of a whole the results of those that are `left` are.
  std::string lost_line(size_t left) const;

 private:
  std::vector<std::optional<std::string>> gather_saved(std::string mine);
  void watch(const std::function<void()>& act, const ExchangeCallbacks* talk);
  void stay_alive(const ExchangeCallbacks* talk);
  bool hold(const ExchangeCallbacks& talk, bool busy, const std::string& reports);

  Cluster& cluster_;
  const std::atomic<int>& stop_;
  std::string lost_;
  int64_t start_ = 0, alive_at_ = 0;
  ClockOffset offset_;
  // Of what is being done.
  std::mutex mutex_;
  std::condition_variable change_;
  bool done_ = false;
  uint64_t asked_ = 0, held_ = 0;  // meetings
  std::string reports_;            // since the last one
};

template <class Part>
std::vector<std::optional<Part>> RankGroup::gather(const Part& mine) {
  std::vector<std::optional<Part>> parts;
  if (!several()) {
    parts.emplace_back(mine);
    return parts;
  }
  for (const std::optional<std::string>& saved : gather_saved(mine.save()))
    parts.push_back(saved ? std::optional(Part::load(*saved)) : std::nullopt);
  return parts;
}

}  // namespace fsr
