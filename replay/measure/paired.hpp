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
  double low = 0, high = 0;  // interval of 95 %, by Student's t of the logarithms; both 0 with fewer than two rounds
  double p = 1;              // the same test, two-sided: how probable a ratio so far from 1 is where there is no difference
  double sign_p = 1;         // sign test, two-sided: how probable ratios this one-sided are where there is no difference
};

PairedRatio paired_ratio(std::span<const RatePair> rounds);
// How many rounds more would probably bring p down to 5 %, if the ratios go on to scatter as they do. Nothing: over a thousand,
// or one round alone says nothing of it.
std::optional<unsigned> rounds_to_decide(std::span<const RatePair> rounds);
// "faster", "slower", "no difference that could be shown (12 more rounds might)". `decided`: a difference is shown.
std::string verdict_words(std::span<const RatePair> rounds, bool decided);

// Which of several comparisons show a difference, so that with the probability 1 - `level` none does by chance (Holm's method).
// `p`: of each.
std::vector<bool> decided(const std::vector<double>& p, double level);
// The level for decided() after `round` rounds, where the comparison may end after each, from round kFirstLook on, but for the
// last. The levels of all looks add up to 5 %, of which the last has half and the first ones most of the rest.
double level_of_look(unsigned round, bool last);
constexpr unsigned kFirstLook = 3;

double median(std::vector<double> values);  // 0 of none

}  // namespace fsr
