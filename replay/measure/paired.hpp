// SPDX-License-Identifier: Apache-2.0
// Finds out whether one of two things is faster, from rounds in which both were measured. The ratio within a round is free of
// what changes from round to round. Rates must be above 0. No state.
//
// Rates may be rounded, as percentiles of a histogram are. A test takes them as measured with the uncertainty of a rounded value
// (JCGM 100:2008, 4.3.7 and F.2.2.1). Otherwise equal roundings would look like rates that never scatter.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fsr {

// One round: rates of the first and the second thing.
struct RatePair {
  double first, second;
  double resolution = 0;  // logarithm by which rounding may move the ratio at most; 0: the rates are not rounded
};
// Returns a round of speeds, from two times that are percentiles of a Histogram. `first_ns`, `second_ns`: above 0.
RatePair pair_of_percentiles(double first_ns, double second_ns);

// Ratio of the second rate to the first.
struct PairedRatio {
  unsigned rounds = 0;
  double ratio = 1;  // the geometric mean over the rounds
  // Interval of 95 %, by Student's t of the logarithms, and wider on each side by the resolution. Both 0 with fewer than two
  // rounds.
  double low = 0, high = 0;
  // Two-sided p of the same test: probability of a ratio so far from 1 if there is no difference. 1 with fewer than
  // kFewestRounds.
  double p = 1;
  double sign_p = 1;  // two-sided p of a sign test: probability of ratios so one-sided if there is no difference
};

// Fewest rounds that show a difference. With two, the scatter is known from a single difference, which may be small by chance.
constexpr unsigned kFewestRounds = 3;

PairedRatio paired_ratio(std::span<const RatePair> rounds);
// Returns how many more rounds would probably bring p down to `level`, if the ratios scatter as before. Nothing: more than a
// thousand, or not known because there are fewer than two rounds.
std::optional<unsigned> rounds_to_decide(std::span<const RatePair> rounds, double level);
// Returns "faster", "slower" or "no difference that could be shown (12 more rounds might show one)". `decided`: a difference is
// shown. `level`: the p that would show one.
std::string verdict_words(std::span<const RatePair> rounds, bool decided, double level);

// Returns which of several comparisons show a difference. With probability 1 - `level`, none of them does so by chance (Holm's
// method). `p`: the p of each comparison.
std::vector<bool> decided(const std::vector<double>& p, double level);
// Returns the level for decided() after `round` rounds, if the comparison may end after each round from kFewestRounds on. `last`:
// this is the last round. The levels of all rounds add up to 5 %. The last one has at least half of that, and the first ones have
// most of the rest.
double level_of_look(unsigned round, bool last);

// Ratio of the geometric means of values that were not measured in rounds, with its interval of 95 % by Welch's t of the
// logarithms. Nothing: one of the two has fewer than kFewestRounds values, or a value that is not above 0. `resolution`: as in
// RatePair; the interval is wider by it on each side.
struct MeanRatio {
  double ratio = 1, low = 0, high = 0;
};
std::optional<MeanRatio> ratio_of_means(std::span<const double> first, std::span<const double> second, double resolution);

double median(std::vector<double> values);  // 0: no values

}  // namespace fsr
