// SPDX-License-Identifier: Apache-2.0
// Texts that the printed comparison and its page share.
#pragma once

#include <string>
#include <vector>

#include "comparison.hpp"

namespace fsr::fsbench {

inline char letter(size_t target) { return char('A' + target); }

// Returns "> " if the median is only a lower bound.
inline std::string bound_text(const ComparedRow& row, size_t target) { return row.bounds[target] ? "> " : ""; }

// Returns a ratio that fits its column: `digits`, the ratio in the caller's format, or "<0.001" or ">9,999".
std::string ratio_text(double ratio, std::string digits);
std::string interval_text(const PairedRatio& paired);
// Figures of the rounds that measured a row; all 0: none did.
struct Spread {
  double median = 0, low = 0, high = 0;
};
Spread spread_of(const ComparedRow& row, size_t target);
// Returns "is faster", ... for a target, with the row of the table as the reason.
std::string verdict_text(const ComparedRow& row, size_t target, Decision decision);
// Returns how rounds were run, for example "5 of 7, as every rate is decided, AB and BA in turn; caches kept".
std::string rounds_text(const Comparison& comparison);
extern const char* const kMeaningOfValues;   // explains medians, ratios and intervals
extern const char* const kMeaningOfVerdict;  // explains how sure the verdict is

}  // namespace fsr::fsbench
