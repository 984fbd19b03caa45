// SPDX-License-Identifier: Apache-2.0
// Sequence numbers of a security context (RFC 2203, 5.3.3.1). A server silently drops a call whose number is a window's length
// below the highest that it has seen. Its threads may look at calls in another order than they came. So no number is given as
// long as an unanswered one is a window below it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace fsr::rpc {

class SequenceWindow {
 public:
  void begin(uint32_t length) {  // numbers, as the server says
    answered_.assign(std::clamp<uint32_t>(length, 1, kLongest), false);
    oldest_ = next_ = 1;
  }
  bool has_room() const { return next_ - oldest_ < answered_.size() && next_ < kLast; }
  bool exhausted() const { return next_ >= kLast; }
  // Returns the next number. Without room, the server may drop a call.
  uint32_t take() {
    if (next_ - oldest_ >= answered_.size()) ++oldest_;
    answered_[next_ % answered_.size()] = false;
    return next_++;
  }
  // Called for a number whose call was answered, or will have no answer.
  void answered(uint32_t number) {
    if (number - oldest_ >= next_ - oldest_) return;
    answered_[number % answered_.size()] = true;
    while (oldest_ != next_ && answered_[oldest_ % answered_.size()]) ++oldest_;
  }

 private:
  static constexpr uint32_t kLongest = 1024, kLast = 0x7fff0000;  // the limit is 2^31

  std::vector<bool> answered_{false};
  uint32_t oldest_ = 1, next_ = 1;  // the oldest unanswered number; the next to give
};

}  // namespace fsr::rpc
