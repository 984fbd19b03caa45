// SPDX-License-Identifier: Apache-2.0
// A condition on what fsbench compare found: "all >= 500" or "every row >= 95%". No state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comparison.hpp"

namespace fsr::fsbench {

class RowRequirement {
 public:
  // ROW >= VALUE, or with ">", of rates; with "<=" or "<" of response times. ROW is the name of a row, or "every row", which are
  // all of that sort. A VALUE without "%" is for the median on each target, in the row's unit. One in percent is for the ratio of
  // each target to the first, with the whole 95 % interval of it. Throws std::invalid_argument, one line.
  explicit RowRequirement(std::string_view text);

  // Says what fell short, a line each; also that nothing was measured.
  std::vector<std::string> missed(const Comparison& comparison) const;
  const std::string& text() const { return text_; }

 private:
  bool meets(double value) const { return (or_equal_ && value == limit_) || (of_times_ ? value < limit_ : value > limit_); }
  std::string missed_value(const Comparison& comparison, const ComparedRow& row, size_t target) const;  // empty: it is met
  std::string missed_ratio(const Comparison& comparison, const ComparedRow& row, size_t target) const;

  std::string text_, row_;  // row_: empty for every row
  bool or_equal_ = false, is_ratio_ = false, of_times_ = false;
  double limit_ = 0;
};

}  // namespace fsr::fsbench
