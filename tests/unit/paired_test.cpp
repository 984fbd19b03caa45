// SPDX-License-Identifier: Apache-2.0
#include "measure/paired.hpp"

#include <cmath>
#include <vector>

#include "catch.hpp"

using namespace fsr;

// Ratios of the second to the first; how fast the rounds were in all must not matter.
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
  CHECK(verdict_words(rounds) == "faster");
  CHECK_FALSE(paired_ratio(rounds, Confidence::p99).decided());  // t 4.604
}

TEST_CASE("What can't be told is said to be so, with how many rounds might tell it") {
  CHECK(verdict_words(rounds_of({0.5, 0.51, 0.49})) == "slower");
  CHECK(verdict_words(rounds_of({2})) == "no difference that could be shown (two rounds are the least)");
  const auto near = rounds_of({1.02, 0.99, 1.03, 0.99, 1.02});
  const std::optional<unsigned> more = rounds_to_decide(near);
  REQUIRE(more);
  CHECK(*more > 0);
  CHECK(verdict_words(near).find(std::to_string(*more) + " more rounds might") != std::string::npos);
  CHECK(verdict_words(rounds_of({1.1, 1 / 1.1, 1})) == "no difference that could be shown (nor with a thousand more rounds)");
  CHECK(verdict_words(rounds_of({1, 1, 1})) == "no difference that could be shown (nor with a thousand more rounds)");
  CHECK(paired_ratio(rounds_of({1, 1, 1})).sign_p == 1);
}

TEST_CASE("Medians") {
  CHECK(median({}) == 0);
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
}
