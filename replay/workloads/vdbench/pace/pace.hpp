// SPDX-License-Identifier: Apache-2.0
// Decides when the threads of a run's workloads may go on: at a requested rate, in requested shares, or as fast as they can. A
// workload that falls behind holds up all others, so that the shares stay as they are.
//
// Each of several ranks has a pace of its own. It computes the starts of all ranks, and gives its threads theirs.
//
// Thread-safe. Times are ns since the start of the play.
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

// One workload: its share of the rate, or a rate of its own.
struct PaceShare {
  double share = 0;       // above 0 without a rate of its own
  double rate = 0;        // per second; 0: none
  unsigned priority = 0;  // a workload begins nothing while one of a lower number has all threads at work and is behind
  // Number of its threads on all ranks; each start of the rate belongs to one of them.
  unsigned threads = 1;
  RankSlice dealt = {};
};

struct PaceOptions {
  double rate = 0;          // per second, of all that have none of their own; 0: as fast as they go
  bool keep_shares = true;  // without a rate
  Arrival arrival = Arrival::exponential;
  uint64_t queue = 2000;  // starts that a workload may be late with before all others wait for it
  uint64_t seed = 1;
  std::vector<std::pair<double, double>> steps;  // rates with their seconds, in turn; empty: `rate`
  bool spike = false;                            // all of a second at its beginning
};

class Pace {
 public:
  Pace(const std::vector<PaceShare>& shares, const PaceOptions& options);

  struct StartSlot {
    int64_t at = 0;        // wait until then
    bool taken = false;    // and go on; else ask again
    bool planned = false;  // `at` is when it was to begin
  };
  StartSlot take(unsigned workload, int64_t now);
  // No thread of it goes on: the others need not wait for it.
  void leave(unsigned workload) { workloads_[workload]->gone = true; }

 private:
  struct Workload {
    double share = 0;  // a part of 1
    double rate = 0;   // its own
    unsigned priority = 0;
    unsigned threads = 1;
    RankSlice dealt;
    uint64_t started = 0;  // by all ranks
    std::atomic<bool> gone{false};
    std::atomic<int64_t> latest{0};  // planned start that a thread took
    alignas(64) std::atomic<uint64_t> taken{0};
    std::mutex mutex;
    std::optional<Arrivals> arrivals;  // of the second that began at `second`
    uint64_t left = 0;                 // starts of that second that are still to come
    int64_t second = -1'000'000'000;
    double fraction = 0;          // of a start, which earlier seconds had too little
    std::atomic<int64_t> gap{0};  // mean, ns
    uint64_t seeds = 0;
  };
  int64_t next(Workload& workload);
  int64_t next_of_all(Workload& workload);
  double rate_at(int64_t second) const;
  bool yields(const Workload& workload, int64_t now) const;
  bool is_ahead(const Workload& workload, int64_t now) const;

  const PaceOptions options_;
  std::vector<std::unique_ptr<Workload>> workloads_;
  std::atomic<int64_t> held_{0};  // ns for which all were held up
};

}  // namespace fsr::vdbench
