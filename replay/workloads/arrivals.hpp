// SPDX-License-Identifier: Apache-2.0
// The due times of calls that are issued without regard to how the server responds (an open loop). Not thread-safe.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "util/random.hpp"

namespace fsr {

enum class Arrival : uint8_t {
  exponential,    // a Poisson process: calls of many independent clients
  uniform,        // gaps between 0 and twice the mean, as nhfsstone sleeps
  deterministic,  // equal gaps
};

// Draws `calls` due times in `span` ns; their number is exact for random arrivals, too. For `exponential`: given their number,
// the calls of a Poisson process are that many random points in the span. They are drawn in order (Bentley and Saxe, ACM TOMS 6,
// 1980). For `uniform`: gaps follow the mean of the remaining span.
class Arrivals {
 public:
  Arrivals(Arrival kind, uint64_t calls, int64_t span, uint64_t seed)
      : kind_(kind), calls_(calls), span_(double(span)), random_(seed, 1) {}

  int64_t next() {  // ns since the start, never less than the one before; call this at most `calls` times
    const double left = double(calls_ - count_);
    switch (kind_) {
      case Arrival::exponential:
        at_ += (span_ - at_) * -std::expm1(std::log1p(-random_.unit()) / left);
        break;
      case Arrival::uniform:
        at_ += (span_ - at_) / left * 2 * random_.unit();
        break;
      case Arrival::deterministic:
        at_ = span_ * (double(count_) / double(calls_));  // avoids a sum of rounding errors
        break;
    }
    at_ = std::min(at_, span_);
    ++count_;
    return int64_t(at_);
  }

 private:
  Arrival kind_;
  uint64_t calls_;
  double span_, at_ = 0;
  uint64_t count_ = 0;
  Random random_;
};

}  // namespace fsr
