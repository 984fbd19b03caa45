// SPDX-License-Identifier: Apache-2.0
// A distribution as values of a few strata. Up to kEqualStrata of them are equal. If there are more, the last one is halved again
// and again, down to single samples. A few long pauses make most of the time, and a few files most of the bytes. Plain data.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace fsr {

constexpr size_t kEqualStrata = 24;
constexpr size_t kMostStrata = 40;

struct Quantiles {
  std::vector<uint64_t> values;  // ascending, one for each stratum

  // Times: means of the strata, rounded to 2 %.
  static Quantiles of_times(std::vector<uint64_t> samples);
  // Sizes: of each stratum the sample that is nearest to its mean. All of them equal: one value.
  static Quantiles of_sizes(std::vector<uint64_t> samples);

  bool empty() const { return values.empty(); }
  // p: 0 to 1. A time of the stratum, spread logarithmically between its neighbours so that its mean stays.
  uint64_t between(double p) const;
  uint64_t step(double p) const;  // p: 0 to 1; one of the values
};

// Times are rounded to a grid of powers of 2^(1/32), whose number a model file contains.
uint32_t time_code(uint64_t ns);
uint64_t time_of_code(uint32_t code);
constexpr uint32_t kMostTimeCode = 62 * 32;

// Draws 0 <= p < 1 in an order that fills the interval evenly (multiples of the golden ratio), so that even few draws have the
// mean of the distribution.
class EvenDraw {
 public:
  explicit EvenDraw(double start = 0) : p_(start) {}
  double next() {
    p_ += 0.6180339887498949;
    if (p_ >= 1) p_ -= 1;
    return p_;
  }
  // Returns of the next kAhead numbers the one that is nearest to `wanted`. The others come later.
  double next(double wanted) {
    while (ahead_.size() < kAhead) ahead_.push_back(next());
    const auto nearest = std::min_element(ahead_.begin(), ahead_.end(),
                                          [&](double a, double b) { return std::abs(a - wanted) < std::abs(b - wanted); });
    return std::exchange(*nearest, next());
  }

 private:
  static constexpr size_t kAhead = 64;
  double p_;
  std::vector<double> ahead_;
};

}  // namespace fsr
