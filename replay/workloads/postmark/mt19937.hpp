// SPDX-License-Identifier: Apache-2.0
// The Mersenne Twister as PostMark seeds it. Makoto Matsumoto, Takuji Nishimura: "Mersenne Twister: A 623-dimensionally
// equidistributed uniform pseudorandom number generator", ACM TOMACS 8 (1998); seeding of their version of 1999. The one in
// <random> is seeded as in 2002 and gives other numbers.
#pragma once

#include <array>
#include <cstdint>

namespace fsr::postmark {

class Mt19937 {
 public:
  explicit Mt19937(uint32_t seed) {
    auto next = [&seed] { return (seed = 69069 * seed + 1); };
    for (uint32_t& word : state_) {
      word = seed & 0xffff0000;
      word |= (next() & 0xffff0000) >> 16;
      next();
    }
  }

  // Returns a number below `limit`. For `limit` 0, returns 0 without drawing a number.
  int64_t below(int64_t limit) { return limit > 0 ? int64_t(draw()) % limit : 0; }

 private:
  static constexpr size_t kWords = 624, kMiddle = 397;

  uint32_t draw() {
    if (at_ == kWords) twist();
    uint32_t y = state_[at_++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return y ^ (y >> 18);
  }
  void twist() {
    for (size_t i = 0; i < kWords; ++i) {
      const uint32_t y = (state_[i] & 0x80000000) | (state_[(i + 1) % kWords] & 0x7fffffff);
      state_[i] = state_[(i + kMiddle) % kWords] ^ (y >> 1) ^ (y & 1 ? 0x9908b0df : 0);
    }
    at_ = 0;
  }

  std::array<uint32_t, kWords> state_;
  size_t at_ = kWords;
};

}  // namespace fsr::postmark
