// SPDX-License-Identifier: Apache-2.0
// A comparison in words: what its text and its page have in common.
#pragma once

#include <string>
#include <vector>

#include "comparison.hpp"

namespace fsr::fsbench {

inline char letter(size_t target) { return char('A' + target); }

// "> " in front of a median that is a lower bound only.
inline std::string bound_text(const ComparedRow& row, size_t target) { return row.bounds[target] ? "> " : ""; }

std::string interval_text(const PairedRatio& paired);
double median_of(const ComparedRow& row, size_t target);
// "is faster", ... of a target; which row of the table says why.
std::string verdict_text(const ComparedRow& row, size_t target, bool decided);
// How rounds were run, such as "5 of 7, as every rate is decided, AB and BA in turn; caches kept".
std::string rounds_text(const Comparison& comparison);
extern const char* const kMeaningOfValues;   // medians, ratios, intervals
extern const char* const kMeaningOfVerdict;  // how sure it is

}  // namespace fsr::fsbench
