// SPDX-License-Identifier: Apache-2.0
// Decides when each thread of a workload may start its next operation. The workloads run at the requested rate, in the requested
// shares, or as fast as they can. If a workload falls behind, the others wait for it, so that the shares stay as requested.
//
// Each rank has its own Pace. It computes the starts of all ranks and hands out those of its own threads.
//
// Thread-safe. All times are ns since the start of the run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "workloads/arrivals.hpp"
#include "workloads/vdbench/plan/rank_slice.hpp"

namespace fsr::vdbench {

// One workload: its share of the common rate, or a rate of its own.
struct PaceShare {
  double share = 0;       // above 0, unless the workload has a rate of its own
  double rate = 0;        // operations per second; 0: the workload has its share of the common rate
  unsigned priority = 0;  // the workload waits while one with a lower number is behind with all of its threads busy
  // Number of threads on all ranks; the starts of a rate go to them in turn. `dealt`: those of these threads that belong to this
  // rank.
  unsigned threads = 1;
  RankSlice dealt = {};
};

struct PaceOptions {
  double rate = 0;          // common rate, operations per second; 0, without `steps`: as fast as possible
  bool keep_shares = true;  // used only without a rate
  Arrival arrival = Arrival::exponential;
  uint64_t queue = 2000;  // a workload that is late by more starts than this delays the schedule of all others
  uint64_t seed = 1;
  std::vector<std::pair<double, double>> steps;  // (rate, seconds), repeated for the whole run; empty: `rate` applies
  bool spike = false;                            // all starts of a second come at its beginning
};

class Pace {
 public:
  Pace(const std::vector<PaceShare>& shares, const PaceOptions& options);

  struct StartSlot {
    int64_t at = 0;        // the thread waits until this time
    bool taken = false;    // true: the thread then starts an operation; false: it then calls take() again
    bool planned = false;  // `at` is a start of the schedule, and may have passed
  };
  StartSlot take(unsigned workload, int64_t now);
  // No thread of the workload calls take() any more. From now on the other workloads do not wait for it.
  void leave(unsigned workload) { workloads_[workload]->gone = true; }

 private:
  struct Workload {
    unsigned number = 0;
    double share = 0;  // the shares of all workloads add up to 1
    double rate = 0;   // operations per second; 0: no rate of its own
    unsigned priority = 0;
    unsigned threads = 1;
    RankSlice dealt;
    uint64_t started = 0;  // starts computed so far, of all ranks
    std::atomic<bool> gone{false};
    std::atomic<int64_t> latest{0};  // last start of the schedule that a thread took
    alignas(64) std::atomic<uint64_t> taken{0};
    std::mutex mutex;
    std::optional<Arrivals> arrivals;  // starts in the second that begins at `second`
    uint64_t left = 0;                 // starts of that second that are still to come
    int64_t second = -1'000'000'000;
    double fraction = 0;          // part of a start that is carried over to the next second
    std::atomic<int64_t> gap{0};  // mean time between two starts, ns
    uint64_t seeds = 0;
  };
  int64_t next(Workload& workload);
  int64_t next_of_all(Workload& workload);
  double rate_at(int64_t second) const;
  bool yields(const Workload& workload, int64_t now) const;
  bool is_ahead(const Workload& workload, int64_t now) const;

  const PaceOptions options_;
  std::vector<std::unique_ptr<Workload>> workloads_;
  std::atomic<int64_t> held_{0};  // ns by which the common schedule was delayed so far
};

}  // namespace fsr::vdbench
