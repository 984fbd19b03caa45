// SPDX-License-Identifier: Apache-2.0
#include "model/quantiles.hpp"

#include <algorithm>
#include <cmath>

namespace fsr {

namespace {

constexpr double kRounding = 1e-6;  // samples, of a border

// Share of the distribution below stratum `i` of `n`.
double below(size_t i, size_t n) {
  if (i >= n) return 1;
  if (n <= kEqualStrata) return double(i) / double(n);
  constexpr double kWidth = 1.0 / kEqualStrata;
  return i < kEqualStrata ? double(i) * kWidth : 1 - std::ldexp(kWidth, -int(i + 1 - kEqualStrata));
}

size_t stratum(double p, size_t n) {
  size_t i = std::min(n - 1, size_t(p * double(std::min(n, kEqualStrata))));
  while (i + 1 < n && below(i + 1, n) <= p) ++i;
  return i;
}

size_t strata_of(size_t samples) {
  if (samples <= kEqualStrata) return samples;
  return std::min(kMostStrata, kEqualStrata + size_t(std::log2(double(samples) / kEqualStrata)));
}

// Calls `visit` with the samples of each stratum and their mean. A sample at a border counts on both sides, by its part there.
template <class Visit>
void each_stratum(std::vector<uint64_t>& samples, Visit visit) {
  std::sort(samples.begin(), samples.end());
  const size_t n = strata_of(samples.size());
  for (size_t i = 0; i < n; ++i) {
    const double low = below(i, n) * double(samples.size()), high = below(i + 1, n) * double(samples.size());
    const auto from = size_t(low + kRounding), to = std::min(samples.size(), size_t(std::ceil(high - kRounding)));
    double sum = 0;
    for (size_t k = from; k < to; ++k) sum += double(samples[k]) * (std::min(high, double(k + 1)) - std::max(low, double(k)));
    visit(samples.begin() + ptrdiff_t(from), samples.begin() + ptrdiff_t(to), sum / (high - low));
  }
}

// Mean of what is spread logarithmically from `a` to `b`.
double logarithmic_mean(double a, double b) { return b - a < 1e-6 * a ? a : (b - a) / std::log(b / a); }

}  // namespace

uint32_t time_code(uint64_t ns) { return std::min(kMostTimeCode, uint32_t(std::lround(32 * std::log2(1 + double(ns))))); }

uint64_t time_of_code(uint32_t code) { return uint64_t(std::llround(std::exp2(double(code) / 32) - 1)); }

Quantiles Quantiles::of_times(std::vector<uint64_t> samples) {
  Quantiles q;
  each_stratum(samples, [&](auto, auto, double mean) {
    const uint64_t value = time_of_code(time_code(uint64_t(std::llround(mean))));
    q.values.push_back(q.empty() ? value : std::max(value, q.values.back()));  // means of equal samples may differ by rounding
  });
  return q;
}

Quantiles Quantiles::of_sizes(std::vector<uint64_t> samples) {
  Quantiles q;
  each_stratum(samples, [&](auto from, auto to, double mean) {
    auto nearest = std::lower_bound(from, to, mean);
    if (nearest == to || (nearest != from && mean - double(*std::prev(nearest)) < double(*nearest) - mean)) --nearest;
    q.values.push_back(*nearest);
  });
  if (!samples.empty() && samples.front() == samples.back()) q.values.resize(1);
  return q;
}

uint64_t Quantiles::between(double p) const {
  if (values.empty()) return 0;
  const size_t n = values.size(), i = stratum(p, n);
  // A stratum of few samples has its mean.
  if (n <= kEqualStrata || i + 1 >= kEqualStrata) return values[i];
  const double mean = 1 + double(values[i]);
  const double low = i ? std::sqrt(mean * (1 + double(values[i - 1]))) : mean;
  const double high = std::sqrt(mean * (1 + double(values[i + 1])));
  const double part = (p - below(i, n)) / (below(i + 1, n) - below(i, n));
  const double spread = part < 0.5 ? low * std::pow(mean / low, 2 * part) : mean * std::pow(high / mean, 2 * part - 1);
  const double spread_mean = (logarithmic_mean(low, mean) + logarithmic_mean(mean, high)) / 2;
  return uint64_t(std::max(0.0, spread * mean / spread_mean - 0.5));
}

uint64_t Quantiles::step(double p) const { return values.empty() ? 0 : values[stratum(p, values.size())]; }

}  // namespace fsr
