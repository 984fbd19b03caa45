// SPDX-License-Identifier: Apache-2.0
// The time the engine lives in. Real in a run, virtual in tests, so that scheduling is tested without sleeping.
#pragma once

#include <cstdint>

namespace fsr {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t now() = 0;  // ns, monotonic
};

// CLOCK_MONOTONIC.
class MonotonicClock final : public Clock {
 public:
  int64_t now() override;
};

// Moves only when told to: by a test, or by a session that polls until a deadline on it.
class VirtualClock final : public Clock {
 public:
  int64_t now() override { return now_; }
  void advance_to(int64_t t) {
    if (t > now_) now_ = t;
  }

 private:
  int64_t now_ = 0;
};

}  // namespace fsr
