// SPDX-License-Identifier: Apache-2.0
// Measures the time in which a target answered none of the operations in flight. Observes it from outside, a few times a second.
// Use from one thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace fsr {

class UnresponsiveTime {
 public:
  // ns; a shorter time is an operation that takes long. With five looks a second, a pause of a second is always seen as this
  // long.
  static constexpr int64_t kLeast = 600'000'000;

  explicit UnresponsiveTime(int64_t now) : last_(now) {}

  // `answered`, `unanswered`: operations that have ended so far, with and without an answer; `in_flight`: operations issued and
  // not ended.
  void look(int64_t now, uint64_t answered, uint64_t unanswered, uint64_t in_flight) {
    const bool asked = in_flight || unanswered != unanswered_;
    if (answered == answered_ && asked)
      lasts_ += now - last_;
    else
      end();
    last_ = now;
    answered_ = answered;
    unanswered_ = unanswered;
  }
  void end() {
    if (lasts_ >= kLeast) {
      total_ += lasts_;
      longest_ = std::max(longest_, lasts_);
    }
    lasts_ = 0;
  }
  int64_t total() const { return total_; }  // ns up to the latest end()
  int64_t longest() const { return longest_; }

 private:
  int64_t last_, lasts_ = 0, total_ = 0, longest_ = 0;
  uint64_t answered_ = 0, unanswered_ = 0;
};

}  // namespace fsr
