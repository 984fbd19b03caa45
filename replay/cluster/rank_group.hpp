// SPDX-License-Identifier: Apache-2.0
// Runs a program on ranks: each rank does its share of the work, and the root gathers the results.
//
//   on_ranks(options, what, [&](Cluster& cluster) {
//     RankGroup ranks(cluster, stop);
//     cluster.on_all([&] { ... });                             // opens what the share needs
//     ranks.work([&] { ... });                                 // starts on all ranks at one moment
//     const auto parts = ranks.gather(part);                   // on the root: the parts of all ranks that are left
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

// Runs the work of one rank. Call all members from the main thread, except barrier() and report_to_root().
class RankGroup {
 public:
  // Both must outlive the group. `stop`: not 0 when the run is to stop, as RunnerOptions::stop.
  RankGroup(Cluster& cluster, const std::atomic<int>& stop) : cluster_(cluster), stop_(stop) {}

  Cluster& cluster() const { return cluster_; }
  bool several() const { return cluster_.size() > 1; }
  // Sends a heartbeat if one is due. Call this often during long work on the main thread.
  void heartbeat();
  // Calls act() on a thread of its own, which starts on all ranks at one moment. Meanwhile the main thread sends heartbeats.
  // Rethrows what act() throws. With a single rank, calls act() on the main thread. Collective.
  void work(const std::function<void()>& act);
  // Common start of the last work(), ns on this rank's CLOCK_MONOTONIC, and the offset of this clock from the root's. Both are 0
  // if there is a single rank.
  int64_t start() const { return start_; }
  const ClockOffset& offset() const { return offset_; }
  // Like work(), but act() may call barrier().
  void work_with_barriers(const std::function<void()>& act);
  // Waits until each rank has called this or is done with its work. Call this on any thread of work_with_barriers(). Empty: all
  // have. Otherwise the reason why the wait ended: a lost rank or a stop signal.
  std::string barrier();
  // Like work(), but act() may call report_to_root(). The ranks exchange reports as soon as each of them has called it with
  // `now`, or is done. The callbacks are called on the main thread.
  struct ExchangeCallbacks {
    // Called on the root with the reports of all ranks since the last exchange, by rank. Returns the answer to all ranks.
    std::function<std::string(const std::vector<std::string>& reports)> answer;
    // Called on each rank with the answer of the root.
    std::function<void(const std::string& answer)> receive;
    std::function<void()> lost = {};  // a rank is lost, so that no more exchanges follow; may be null
  };
  void work_with_exchange(const std::function<void()>& act, const ExchangeCallbacks& callbacks);
  // Appends `text` to the report of the next exchange. Any thread; never blocks. `now`: asks for an exchange. Otherwise the text
  // waits for the next exchange.
  void report_to_root(std::string_view text, bool now = true);

  // Returns on the root the part of each rank, by rank. None: the rank is lost. Part has save() and load(). Collective.
  template <class Part>
  std::vector<std::optional<Part>> gather(const Part& mine);
  // One line: the ranks that were lost, and why. Empty: none. Otherwise gather() returns the part of this rank only.
  const std::string& lost() const { return lost_; }
  // Returns lost() as a line for the report, with the number of ranks whose results are included, which is `left`.
  std::string lost_line(size_t left) const;

 private:
  std::vector<std::optional<std::string>> gather_saved(std::string mine);
  void watch(const std::function<void()>& act, const ExchangeCallbacks* callbacks);
  void stay_alive(const ExchangeCallbacks* callbacks);
  bool hold(const ExchangeCallbacks& callbacks, bool busy, const std::string& reports);

  Cluster& cluster_;
  const std::atomic<int>& stop_;
  std::string lost_;
  int64_t start_ = 0, alive_at_ = 0;
  ClockOffset offset_;
  // State of the work that is running.
  std::mutex mutex_;
  std::condition_variable change_;
  bool done_ = false;
  uint64_t asked_ = 0, held_ = 0;  // barriers and exchanges that this rank has asked for and completed
  std::string reports_;            // texts for the next exchange
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
