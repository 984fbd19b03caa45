// SPDX-License-Identifier: Apache-2.0
// A distribution as a few order statistics. Values between two of them are drawn logarithmically, because times between
// operations span many powers of ten; linear interpolation makes their mean far too large. Plain data.
#pragma once

#include <cstdint>
#include <vector>

namespace fsr {

struct Quantiles {
  std::vector<uint64_t> values;  // ascending; value i is the quantile kSteps[i], or i / (n - 1) of fewer values

  // Times: keeps few values within, and the tail up to the maximum; rounds to 2 %.
  static Quantiles of_times(std::vector<uint64_t> samples);
  // Sizes: keeps exact values from the middle of equal strata.
  static Quantiles of_sizes(std::vector<uint64_t> samples);

  bool empty() const { return values.empty(); }
  uint64_t between(double p) const;  // p: 0 to 1; interpolates logarithmically
  uint64_t step(double p) const;     // p: 0 to 1; one of the values
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

 private:
  double p_;
};

}  // namespace fsr
