// SPDX-License-Identifier: Apache-2.0
#include "measure/paired.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "util/histogram.hpp"

namespace fsr {

namespace {

constexpr unsigned kMostMore = 1000;

constexpr double kLevel = 0.05;  // probability of showing a difference that does not exist

// Two-sided 95 % quantiles of Student's distribution with 1 to 30 degrees of freedom. Above 30, Cornish and Fisher's expansion of
// the normal quantile is right to three places.
constexpr std::array<double, 30> k95 = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                        2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                        2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};

double student(unsigned freedom) {
  if (freedom <= k95.size()) return k95[freedom - 1];
  const double z = 1.95996;
  return z + (z * z * z + z) / (4.0 * freedom);
}

// Returns the regularized incomplete beta function of a, b and x, by its continued fraction (Numerical Recipes, 6.4).
double beta_share(double a, double b, double x) {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - beta_share(b, a, 1 - x);
  constexpr double kTiny = 1e-300;
  constexpr int kMostTerms = 500;
  auto off_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1, d = 1 / off_zero(1 - (a + b) * x / (a + 1)), fraction = d;
  for (int m = 1; m <= kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / off_zero(1 + even * d);
    c = off_zero(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / off_zero(1 + odd * d);
    c = off_zero(1 + odd / c);
    fraction *= d * c;
    if (std::abs(d * c - 1) < 1e-12) break;
  }
  return fraction * std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x)) / a;
}

// Returns the logarithm by which a time may differ from the edge of the bucket in which it lies.
double resolution_of(double ns) {
  Histogram time;
  time.add(std::llround(ns));
  double width = 0;
  time.each_bucket([&](int64_t low, int64_t high, uint64_t) { width = double(high - low + 1); });
  return std::log1p(width / ns);
}

struct Logarithms {
  double mean = 0, deviation = 0;  // of the logarithms of the ratios; the deviation contains that of rounding
  double resolution = 0;           // mean over the rounds
};

Logarithms logarithms(std::span<const RatePair> rounds) {
  Logarithms l;
  double squares = 0, rounding = 0;
  for (const RatePair& r : rounds) {
    l.mean += std::log(r.second / r.first) / double(rounds.size());
    l.resolution += r.resolution / double(rounds.size());
    // Two rates, each anywhere in an interval of this width: the variance of a uniform distribution is a twelfth of its square.
    rounding += 2 * r.resolution * r.resolution / 12 / double(rounds.size());
  }
  for (const RatePair& r : rounds) squares += std::pow(std::log(r.second / r.first) - l.mean, 2);
  if (rounds.size() > 1) l.deviation = std::sqrt(squares / double(rounds.size() - 1) + rounding);
  return l;
}

// Returns the two-sided p of Student's t of `rounds` logarithms, for a difference that exceeds the resolution.
double p_of(const Logarithms& l, unsigned rounds) {
  const double beyond = std::abs(l.mean) - l.resolution;
  if (beyond <= 0 || rounds < kFewestRounds) return 1;
  const double freedom = rounds - 1, t = beyond / l.deviation * std::sqrt(rounds);
  return std::isfinite(t) ? beta_share(freedom / 2, 0.5, freedom / (freedom + t * t)) : 0;
}

double sign_test(std::span<const RatePair> rounds) {
  unsigned up = 0, down = 0;
  for (const RatePair& r : rounds) {
    up += r.second > r.first;
    down += r.second < r.first;
  }
  const unsigned n = up + down;
  double tail = 0;
  for (unsigned i = 0; i <= std::min(up, down); ++i)
    tail += std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1) - n * std::log(2));
  return std::min(1.0, 2 * tail);
}

}  // namespace

RatePair pair_of_percentiles(double first_ns, double second_ns) {
  return {1 / first_ns, 1 / second_ns, std::max(resolution_of(first_ns), resolution_of(second_ns))};
}

PairedRatio paired_ratio(std::span<const RatePair> rounds) {
  PairedRatio paired{.rounds = unsigned(rounds.size())};
  if (rounds.empty()) return paired;
  const Logarithms l = logarithms(rounds);
  paired.ratio = std::exp(l.mean);
  paired.sign_p = sign_test(rounds);
  if (rounds.size() < 2) return paired;
  const double width = student(paired.rounds - 1) * l.deviation / std::sqrt(paired.rounds) + l.resolution;
  paired.low = std::exp(l.mean - width);
  paired.high = std::exp(l.mean + width);
  paired.p = p_of(l, paired.rounds);
  return paired;
}

std::optional<unsigned> rounds_to_decide(std::span<const RatePair> rounds, double level) {
  if (rounds.size() < 2) return std::nullopt;
  const Logarithms l = logarithms(rounds);
  const unsigned have = unsigned(rounds.size());
  for (unsigned n = have + 1; n <= have + kMostMore; ++n)
    if (p_of(l, n) <= level) return n - have;
  return std::nullopt;
}

std::string verdict_words(std::span<const RatePair> rounds, bool decided, double level) {
  if (decided) return paired_ratio(rounds).ratio > 1 ? "faster" : "slower";
  const std::string unknown = "no difference that could be shown";
  if (rounds.size() < kFewestRounds) return unknown + fmt::format(" (requires {} rounds or more)", kFewestRounds);
  const std::optional<unsigned> more = rounds_to_decide(rounds, level);
  if (!more) return unknown + " (nor would a thousand more rounds show one)";
  return unknown + fmt::format(" ({} more round{} might show one)", *more, *more == 1 ? "" : "s");
}

std::vector<bool> decided(const std::vector<double>& p, double level) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<bool> shown(p.size());
  for (size_t i = 0; i < order.size() && p[order[i]] <= level / double(order.size() - i); ++i) shown[order[i]] = true;
  return shown;
}

double level_of_look(unsigned round, bool last) {
  // The terms 1/2, 1/6, 1/12, ... add up to 1, and the first n of them to n / (n + 1).
  const double look = double(round) - kFewestRounds + 1, early = kLevel / 2;
  if (last) return look > 1 ? kLevel - early * (look - 1) / look : kLevel;
  return look > 0 ? early / (look * (look + 1)) : 0;
}

std::optional<MeanRatio> ratio_of_means(std::span<const double> first, std::span<const double> second, double resolution) {
  double mean[2] = {}, variance[2] = {};  // of the logarithms; the variance is that of their mean
  double freedom = 0;
  for (int i = 0; i < 2; ++i) {
    const std::span<const double> values = i ? second : first;
    const auto n = double(values.size());
    if (values.size() < kFewestRounds || *std::min_element(values.begin(), values.end()) <= 0) return std::nullopt;
    for (double value : values) mean[i] += std::log(value) / n;
    for (double value : values) variance[i] += std::pow(std::log(value) - mean[i], 2) / (n - 1) / n;
    freedom += variance[i] * variance[i] / (n - 1);
  }
  const double sum = variance[0] + variance[1], middle = mean[1] - mean[0];
  // Without scatter the width is 0 whatever the degrees of freedom.
  const auto whole = freedom > 0 ? unsigned(std::clamp(sum * sum / freedom, 1.0, 1e6)) : 1;
  const double width = student(whole) * std::sqrt(sum) + resolution;
  return MeanRatio{std::exp(middle), std::exp(middle - width), std::exp(middle + width)};
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace fsr
