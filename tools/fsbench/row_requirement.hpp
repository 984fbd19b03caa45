// SPDX-License-Identifier: Apache-2.0
// A condition on the results of fsbench compare: "all >= 500" or "every row >= 95%". No state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comparison.hpp"

namespace fsr::fsbench {

class RowRequirement {
 public:
  // Parses ROW >= VALUE, or with ">", for rates; with "<=" or "<" for response times. ROW is the name of a row, or "every row"
  // for all rows of rates or of times. A VALUE without "%" is compared with the median on each target, in the row's unit. A VALUE
  // with "%" is compared with the ratio of each target to the first; the whole 95 % interval must meet it. Throws
  // std::invalid_argument, one line.
  explicit RowRequirement(std::string_view text);

  // Returns why no measurement can meet the condition, one line: no row has the name, or rates are limited like times. Empty: one
  // can. `comparison`: has a round or more.
  std::string mistake(const Comparison& comparison) const;
  // Returns one line for each value that does not meet the condition. mistake() must be empty.
  std::vector<std::string> missed(const Comparison& comparison) const;
  const std::string& text() const { return text_; }

 private:
  bool meets(double value) const { return (or_equal_ && value == limit_) || (of_times_ ? value < limit_ : value > limit_); }
  bool concerns(const ComparedRow& row) const;
  std::string missed_value(const Comparison& comparison, const ComparedRow& row, size_t target) const;  // empty: condition met
  std::string missed_ratio(const Comparison& comparison, const ComparedRow& row, size_t target) const;

  std::string text_, row_;  // row_: name of the row; empty: every row
  bool or_equal_ = false, is_ratio_ = false, of_times_ = false;
  double limit_ = 0;
};

}  // namespace fsr::fsbench
