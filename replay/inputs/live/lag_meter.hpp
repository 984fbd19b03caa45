// SPDX-License-Identifier: Apache-2.0
// Measures the lag of a live replay: from the start of an operation to its start here. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

#include "base/clock.hpp"
#include "engine/run.hpp"
#include "util/histogram.hpp"

namespace fsr {

class LagMeter {
 public:
  LagMeter(Clock& clock, int64_t lag) : clock_(clock), lag_(lag), now_(lag) {}  // `lag`: ns, without any delay

  void comes(int64_t due);  // operations have come, of which the first is due then (clock, ns)
  // Call when what has come can be issued. Counts its lag if it is greater than at the last look, because a late burst may be
  // issued before the next one. Returns the greater of the two, ns.
  int64_t ready();
  void passes_on(uint64_t operations);  // these, or others before them, enter the run
  void look(const Progress& progress);  // call several times a second

  int64_t now() const { return now_.load(std::memory_order_relaxed); }  // ns
  Histogram seen() const;                                               // the lag at each look, and peaks between them

 private:
  struct Window {
    uint64_t first = 0;  // number of operations that entered the run before
    int64_t due = 0;     // clock, ns
  };

  Clock& clock_;
  const int64_t lag_;
  std::atomic<int64_t> now_;
  mutable std::mutex mutex_;
  std::deque<Window> windows_;
  uint64_t passed_ = 0;
  bool waiting_ = false;  // operations have come and not entered the run
  Histogram seen_;
};

}  // namespace fsr
