// SPDX-License-Identifier: Apache-2.0
#include "measure/paired.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "catch.hpp"
#include "util/histogram.hpp"

namespace fsr::paired_test {

// Returns rounds with these ratios of the second rate to the first. The speed of a whole round must not matter.
static std::vector<RatePair> rounds_of(std::initializer_list<double> ratios) {
  std::vector<RatePair> rounds;
  double first = 10;
  for (double ratio : ratios) rounds.push_back({first *= 3, first * ratio});
  return rounds;
}

TEST_CASE("A paired ratio has the interval that Student's distribution gives") {
  const auto rounds = rounds_of({std::exp(0.1), std::exp(0.2), std::exp(0.3), std::exp(0.4), std::exp(0.5)});
  const PairedRatio paired = paired_ratio(rounds);
  CHECK(paired.ratio == Approx(std::exp(0.3)));
  // mean 0.3, deviation sqrt(0.025), t 2.776
  CHECK(std::log(paired.low) == Approx(0.3 - 2.776 * std::sqrt(0.025 / 5)));
  CHECK(std::log(paired.high) == Approx(0.3 + 2.776 * std::sqrt(0.025 / 5)));
  CHECK(paired.sign_p == Approx(2.0 / 32));
  CHECK(paired.p == Approx(0.01324).epsilon(0.001));  // from t 4.243
  CHECK(verdict_words(rounds, true, 0.05) == "faster");
  const auto two = rounds_of({2, 2});
  CHECK(paired_ratio(two).ratio == Approx(2));
  CHECK(paired_ratio(two).p == 1);
  CHECK(paired_ratio(rounds_of({2, 2, 2})).p == 0);
}

TEST_CASE("An undecided comparison is reported as such, with the number of rounds that might decide") {
  CHECK(verdict_words(rounds_of({0.5, 0.51, 0.49}), true, 0.05) == "slower");
  CHECK(verdict_words(rounds_of({2}), false, 0.05) == "no difference that could be shown (requires 3 rounds or more)");
  const auto near = rounds_of({1.02, 0.99, 1.03, 0.99, 1.02});
  const std::optional<unsigned> more = rounds_to_decide(near, 0.05);
  CHECK(rounds_to_decide(near, 0.005) > *more + 5);  // of ten comparisons
  REQUIRE(more);
  CHECK(*more > 0);
  CHECK(verdict_words(near, false, 0.05).find(std::to_string(*more) + " more rounds might show one") != std::string::npos);
  CHECK(verdict_words(rounds_of({1.1, 1 / 1.1, 1}), false, 0.05) ==
        "no difference that could be shown (nor would a thousand more rounds show one)");
  CHECK(verdict_words(rounds_of({1, 1, 1}), false, 0.05) ==
        "no difference that could be shown (nor would a thousand more rounds show one)");
  CHECK(paired_ratio(rounds_of({1, 1, 1})).sign_p == 1);
}

TEST_CASE("Each of many comparisons needs more certainty") {
  CHECK(decided({0.04}, 0.05) == std::vector<bool>{true});
  CHECK(decided({0.04, 0.04}, 0.05) == std::vector<bool>{false, false});
  CHECK(decided({0.04, 0.02, 0.001}, 0.05) == std::vector<bool>{true, true, true});
  CHECK(decided({0.03, 0.02, 0.5}, 0.05) == std::vector<bool>{false, false, false});
  CHECK(decided({}, 0.05).empty());
  double all = level_of_look(12, true);
  for (unsigned round = 1; round < 12; ++round) all += level_of_look(round, false);
  CHECK(all == Approx(0.05));
  CHECK(level_of_look(2, true) == 0.05);
  CHECK(level_of_look(3, true) == 0.05);
}

TEST_CASE("Equal targets are seldom reported as different, for any number of looks and rows") {
  for (const size_t rows : {1, 10}) {
    constexpr unsigned kTries = 2000, kRounds = 10;
    std::mt19937_64 random(7);
    std::normal_distribution<double> noise(0, 0.1);
    unsigned wrong = 0;
    for (unsigned i = 0; i < kTries; ++i) {
      std::vector<std::vector<RatePair>> measured(rows);
      for (unsigned round = 1; round <= kRounds; ++round) {
        std::vector<double> p;
        for (auto& row : measured) {
          row.push_back({1, std::exp(noise(random))});
          p.push_back(paired_ratio(row).p);
        }
        if (round < kFewestRounds) continue;
        const std::vector<bool> shown = decided(p, level_of_look(round, round == kRounds));
        const auto count = std::count(shown.begin(), shown.end(), true);
        if (round < kRounds && size_t(count) < rows) continue;
        wrong += count != 0;
        break;
      }
    }
    CHECK(double(wrong) / kTries <= 0.05);
  }
}

TEST_CASE("An interval is never narrower than the resolution of its values") {
  // Buckets are 16 ns wide from 1024 ns on.
  const std::vector<RatePair> steps(5, pair_of_percentiles(1039, 1055));
  const PairedRatio step = paired_ratio(steps);
  CHECK(step.ratio == Approx(1039.0 / 1055));
  CHECK(step.high / step.low >= std::pow(1 + 16.0 / 1055, 2));
  CHECK(step.high > 1);
  CHECK(step.p == 1);
  const std::vector<RatePair> far(5, pair_of_percentiles(1039, 2079));
  CHECK(paired_ratio(far).p < 1e-6);
  CHECK(paired_ratio(far).high < 0.53);
  CHECK(paired_ratio(std::vector<RatePair>(5, pair_of_percentiles(1, 1))).p == 1);
}

TEST_CASE("Percentiles of equal targets are seldom reported as different, however few the rounds and narrow the scatter") {
  constexpr unsigned kTries = 500, kRows = 36;
  for (const double scatter : {0.002, 0.01, 0.03, 0.2})
    for (const unsigned rounds : {2, 3, 5}) {
      std::mt19937_64 random(11);
      std::lognormal_distribution<double> noise(0, scatter);
      unsigned wrong = 0, own = 0;  // comparisons with a decided row, and rows that would be decided alone
      for (unsigned i = 0; i < kTries; ++i) {
        std::vector<double> p;
        for (unsigned row = 0; row < kRows; ++row) {
          auto measured = [&] {
            Histogram times;
            // The second value, above, has the percentile be its bucket's edge, as in a run with many values.
            times.add(std::llround(1000.0 * (row + 1) * noise(random)));
            times.add(1'000'000'000);
            return double(times.quantile(0.5));
          };
          std::vector<RatePair> pairs;
          for (unsigned round = 0; round < rounds; ++round) {
            const double first = measured();
            pairs.push_back(pair_of_percentiles(first, measured()));
          }
          p.push_back(paired_ratio(pairs).p);
          own += p.back() <= 0.05;
        }
        const std::vector<bool> shown = decided(p, level_of_look(rounds, true) / 2);
        wrong += std::count(shown.begin(), shown.end(), true) > 0;
      }
      CAPTURE(scatter, rounds);
      CHECK(wrong <= 0.05 * kTries);
      CHECK(own <= 0.05 * kTries * kRows);
      if (rounds < kFewestRounds) CHECK(wrong == 0);
    }
}

TEST_CASE("Welch's interval of a ratio of means") {
  auto powers = [](std::initializer_list<double> logarithms) {
    std::vector<double> values;
    for (double logarithm : logarithms) values.push_back(std::exp(logarithm));
    return values;
  };
  // Equal variances of 0.01: four degrees of freedom, t = 2.776, width 2.776 * sqrt(0.02 / 3).
  const auto equal = ratio_of_means(powers({0, 0.1, 0.2}), powers({1, 1.1, 1.2}), 0);
  REQUIRE(equal);
  CHECK(std::abs(equal->ratio - std::exp(1)) < 1e-9);
  CHECK(std::abs(equal->low - std::exp(1 - 0.22667)) < 1e-3);
  CHECK(std::abs(equal->high - std::exp(1 + 0.22667)) < 1e-3);
  // A target without scatter leaves the two degrees of freedom of the other, t = 4.303.
  const auto one = ratio_of_means(powers({0, 0, 0}), powers({0.9, 1, 1.1}), 0.1);
  REQUIRE(one);
  CHECK(std::abs(one->high - std::exp(1 + 0.1 + 4.303 * std::sqrt(0.01 / 3))) < 1e-2);
  CHECK_FALSE(ratio_of_means(powers({0, 1}), powers({0, 1, 2}), 0));
  CHECK_FALSE(ratio_of_means(std::vector<double>{1, 2, 0}, powers({0, 1, 2}), 0));
}

TEST_CASE("The median of an even number of values is the mean of the middle two") {
  CHECK(median({}) == 0);
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
}

}  // namespace fsr::paired_test
