// SPDX-License-Identifier: Apache-2.0
#include "model/quantiles.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace fsr {

namespace {

// The last steps are the tail, where a few long pauses make most of the time.
constexpr double kSteps[] = {0,     .0625, .125,  .1875, .25,   .3125, .375, .4375, .5,   .5625, .625,
                             .6875, .75,   .8125, .875,  .9375, .97,   .985, .995,  .999, 1};
constexpr size_t kSizeSteps = 32;

uint64_t at(const std::vector<uint64_t>& sorted, double p) { return sorted[size_t(p * double(sorted.size() - 1))]; }

}  // namespace

uint32_t time_code(uint64_t ns) { return std::min(kMostTimeCode, uint32_t(std::lround(32 * std::log2(1 + double(ns))))); }

uint64_t time_of_code(uint32_t code) { return uint64_t(std::llround(std::exp2(double(code) / 32) - 1)); }

Quantiles Quantiles::of_times(std::vector<uint64_t> samples) {
  Quantiles q;
  if (samples.empty()) return q;
  std::sort(samples.begin(), samples.end());
  const size_t n = std::min(samples.size(), std::size(kSteps));
  for (size_t i = 0; i < n; ++i) {
    const double p = n == std::size(kSteps) ? kSteps[i] : n == 1 ? 0 : double(i) / double(n - 1);
    q.values.push_back(time_of_code(time_code(at(samples, p))));
  }
  return q;
}

Quantiles Quantiles::of_sizes(std::vector<uint64_t> samples) {
  Quantiles q;
  if (samples.empty()) return q;
  std::sort(samples.begin(), samples.end());
  if (samples.front() == samples.back()) samples.resize(1);
  const size_t n = std::min(samples.size(), kSizeSteps);
  for (size_t i = 0; i < n; ++i) q.values.push_back(samples[(2 * i + 1) * samples.size() / (2 * n)]);
  return q;
}

uint64_t Quantiles::between(double p) const {
  const size_t n = values.size();
  if (n < 2) return n ? values[0] : 0;
  size_t i = 0;
  double low = 0, high = 1;
  if (n == std::size(kSteps)) {
    i = std::min(n - 2, size_t(std::upper_bound(std::begin(kSteps), std::end(kSteps), p) - std::begin(kSteps)) - 1);
    low = kSteps[i];
    high = kSteps[i + 1];
  } else {
    i = std::min(n - 2, size_t(p * double(n - 1)));
    low = double(i) / double(n - 1);
    high = double(i + 1) / double(n - 1);
  }
  const double part = std::clamp((p - low) / (high - low), 0.0, 1.0);
  const double a = std::log(1 + double(values[i])), b = std::log(1 + double(values[i + 1]));
  return uint64_t(std::exp(a + (b - a) * part) - 1 + 0.5);
}

uint64_t Quantiles::step(double p) const {
  return values.empty() ? 0 : values[std::min(values.size() - 1, size_t(p * double(values.size())))];
}

}  // namespace fsr
