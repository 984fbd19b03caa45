// SPDX-License-Identifier: Apache-2.0
// Whether one of two things is faster, from rounds in each of which both were measured: the ratio within a round is free of what
// changes from round to round. Plain functions; rates are above 0.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fsr {

// One round: rates of the first and the second thing.
struct RatePair {
  double first, second;
};

// Of the second to the first.
struct PairedRatio {
  unsigned rounds = 0;
  double ratio = 1;          // the geometric mean over the rounds
  double low = 0, high = 0;  // interval of confidence, by Student's t of the logarithms; both 0 with fewer than two rounds
  double sign_p = 1;         // sign test, two-sided: how probable ratios this one-sided are where there is no difference

  bool faster() const { return rounds > 1 && low > 1; }
  bool slower() const { return rounds > 1 && high < 1; }
  bool decided() const { return faster() || slower(); }
};

enum class Confidence { p95, p99 };

PairedRatio paired_ratio(std::span<const RatePair> rounds, Confidence confidence = Confidence::p95);
// How many rounds more would probably decide, if the ratios go on to scatter as they do. Nothing: over a thousand, or one round
// alone says nothing of it. 0: they have decided.
std::optional<unsigned> rounds_to_decide(std::span<const RatePair> rounds);
// "faster", "slower", "no difference that could be shown (12 more rounds might)".
std::string verdict_words(std::span<const RatePair> rounds);

double median(std::vector<double> values);  // 0 of none

}  // namespace fsr
