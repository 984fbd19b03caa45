// SPDX-License-Identifier: Apache-2.0
#include "measure/paired.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace fsr {

namespace {

constexpr unsigned kMostMore = 1000;

// Two-sided quantiles of Student's distribution with 1 to 30 degrees of freedom; above, Cornish and Fisher's expansion of the
// normal one is right to three places.
constexpr std::array<double, 30> k95 = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                        2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                        2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
constexpr std::array<double, 30> k99 = {63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169,
                                        3.106,  3.055, 3.012, 2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845,
                                        2.831,  2.819, 2.807, 2.797, 2.787, 2.779, 2.771, 2.763, 2.756, 2.750};

double student(unsigned freedom, Confidence confidence) {
  if (freedom <= k95.size()) return (confidence == Confidence::p95 ? k95 : k99)[freedom - 1];
  const double z = confidence == Confidence::p95 ? 1.95996 : 2.57583;
  return z + (z * z * z + z) / (4.0 * freedom);
}

struct Logarithms {
  double mean = 0, deviation = 0;  // of the logarithms of the ratios
};

Logarithms logarithms(std::span<const RatePair> rounds) {
  Logarithms l;
  for (const RatePair& r : rounds) l.mean += std::log(r.second / r.first) / double(rounds.size());
  double squares = 0;
  for (const RatePair& r : rounds) squares += std::pow(std::log(r.second / r.first) - l.mean, 2);
  if (rounds.size() > 1) l.deviation = std::sqrt(squares / double(rounds.size() - 1));
  return l;
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

PairedRatio paired_ratio(std::span<const RatePair> rounds, Confidence confidence) {
  PairedRatio paired{.rounds = unsigned(rounds.size())};
  if (rounds.empty()) return paired;
  const Logarithms l = logarithms(rounds);
  paired.ratio = std::exp(l.mean);
  paired.sign_p = sign_test(rounds);
  if (rounds.size() < 2) return paired;
  const double width = student(paired.rounds - 1, confidence) * l.deviation / std::sqrt(paired.rounds);
  paired.low = std::exp(l.mean - width);
  paired.high = std::exp(l.mean + width);
  return paired;
}

std::optional<unsigned> rounds_to_decide(std::span<const RatePair> rounds) {
  if (rounds.size() < 2) return std::nullopt;
  if (paired_ratio(rounds).decided()) return 0;
  const Logarithms l = logarithms(rounds);
  const unsigned have = unsigned(rounds.size());
  for (unsigned n = have + 1; n <= have + kMostMore; ++n)
    if (std::abs(l.mean) > student(n - 1, Confidence::p95) * l.deviation / std::sqrt(n)) return n - have;
  return std::nullopt;
}

std::string verdict_words(std::span<const RatePair> rounds) {
  const PairedRatio paired = paired_ratio(rounds);
  if (paired.faster()) return "faster";
  if (paired.slower()) return "slower";
  const std::string unknown = "no difference that could be shown";
  if (rounds.size() < 2) return unknown + " (two rounds are the least)";
  const std::optional<unsigned> more = rounds_to_decide(rounds);
  if (!more) return unknown + " (nor with a thousand more rounds)";
  return unknown + fmt::format(" ({} more round{} might)", *more, *more == 1 ? "" : "s");
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace fsr
