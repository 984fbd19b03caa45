// SPDX-License-Identifier: Apache-2.0
// The generator of java.util.Random, whose algorithm its documentation defines. The original draws the sizes of files from it, so
// that a file has the same size in every run. Not thread-safe.
#pragma once

#include <cstdint>

namespace fsr::vdbench {

class JavaRandom {
 public:
  explicit JavaRandom(int64_t seed) : state_((uint64_t(seed) ^ kMultiplier) & kMask) {}

  int32_t below(int32_t bound) {  // nextInt(bound), bound > 0
    int32_t bits = int32_t(next(31));
    if ((bound & (bound - 1)) == 0) return int32_t((int64_t(bound) * bits) >> 31);
    int32_t value = bits % bound;
    while (int64_t(bits) - value + bound - 1 > INT32_MAX) {
      bits = int32_t(next(31));
      value = bits % bound;
    }
    return value;
  }
  double unit() {  // nextDouble()
    const uint64_t high = uint64_t(next(26)) << 27;
    return double(high + next(27)) * 0x1p-53;
  }

 private:
  static constexpr uint64_t kMultiplier = 0x5DEECE66D, kMask = (uint64_t(1) << 48) - 1;
  uint32_t next(unsigned bits) {
    state_ = (state_ * kMultiplier + 0xB) & kMask;
    return uint32_t(state_ >> (48 - bits));
  }
  uint64_t state_;
};

}  // namespace fsr::vdbench
