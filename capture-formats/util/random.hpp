// SPDX-License-Identifier: Apache-2.0
// Pseudo-random numbers that are the same on all systems for the same seed: splitmix64 (Steele, Lea, Flood, OOPSLA 2014). The
// distributions of <random> differ between libraries. Not thread-safe.
#pragma once

#include <cmath>
#include <cstdint>

namespace fsr {

class Random {
 public:
  // Generators of the same seed and different streams are unrelated.
  explicit Random(uint64_t seed, uint64_t stream = 0) : state_(seed) { state_ = next() ^ (stream * 0xd1342543de82ef95ull); }

  uint64_t next() {
    uint64_t x = state_ += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  }
  double unit() { return double(next() >> 11) * 0x1p-53; }                          // 0 <= x < 1
  uint64_t below(uint64_t n) { return n == 0 ? 0 : uint64_t(unit() * double(n)); }  // n must be far below 2^53
  uint64_t between(uint64_t low, uint64_t high) { return low + below(high - low + 1); }
  double exponential(double mean) { return -mean * std::log1p(-unit()); }

 private:
  uint64_t state_;
};

}  // namespace fsr
