// SPDX-License-Identifier: Apache-2.0
#include "distinct_count.hpp"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace fsr {

constexpr int kBits = 14;
constexpr size_t kRegisters = size_t(1) << kBits;

DistinctCount::DistinctCount() : registers_(kRegisters) {}

void DistinctCount::add(uint64_t a, uint64_t b) {
  const uint64_t pair[] = {a, b};
  const uint64_t hash = XXH3_64bits(pair, sizeof pair);
  const auto rank = uint8_t(std::countl_zero(hash << kBits | (kRegisters - 1)) + 1);
  uint8_t& r = registers_[hash >> (64 - kBits)];
  r = std::max(r, rank);
}

uint64_t DistinctCount::estimate() const {
  double sum = 0;
  size_t empty = 0;
  for (uint8_t r : registers_) {
    sum += std::ldexp(1.0, -r);
    empty += r == 0;
  }
  const double m = double(kRegisters), raw = 0.7213 / (1 + 1.079 / m) * m * m / sum;
  return uint64_t(std::lround(raw <= 2.5 * m && empty ? m * std::log(m / double(empty)) : raw));
}

}  // namespace fsr
