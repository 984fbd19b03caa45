// SPDX-License-Identifier: Apache-2.0
#include "row_requirement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "util/units.hpp"

namespace fsr::fsbench {

static std::string_view trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(' ');
  return from == text.npos ? std::string_view() : text.substr(from, text.find_last_not_of(' ') - from + 1);
}

RowRequirement::RowRequirement(std::string_view text) : text_(trimmed(text)) {
  const std::string_view all = text_;
  const size_t at = all.find_first_of("<>");
  std::string_view value;
  if (at != all.npos) {
    of_times_ = all[at] == '<';
    row_ = trimmed(all.substr(0, at));
    value = all.substr(at + 1);
    or_equal_ = value.starts_with('=');
    value = trimmed(value.substr(or_equal_));
  }
  is_ratio_ = value.ends_with('%');
  if (is_ratio_) value = trimmed(value.substr(0, value.size() - 1));
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), limit_);
  if (row_.empty() || value.empty() || error != std::errc() || end != value.data() + value.size() || !(limit_ >= 0))
    throw std::invalid_argument(
        fmt::format("'{}': expected a row and its least rate or longest time, such as 'all >= 500' or 'every row >= 95%'",
                    escape_text(text)));
  if (is_ratio_) limit_ /= 100;
  if (row_ == "every row") row_.clear();
}

bool RowRequirement::concerns(const ComparedRow& row) const { return row_.empty() ? row.is_time == of_times_ : row.name == row_; }

std::string RowRequirement::missed_value(const Comparison& comparison, const ComparedRow& row, size_t target) const {
  const std::vector<double>& values = row.rates[target];
  const std::string what = fmt::format("{} on {}", row.name, comparison.targets[target]);
  // A time of 0 was not measured.
  if (of_times_ && (values.size() < comparison.rounds || std::count(values.begin(), values.end(), 0.0)))
    return what + " was not measured in every round";
  const double value = median(values);
  if (row.bounds[target]) return fmt::format("{} is at least {:.6g} {}", what, value, row.unit);
  return meets(value) ? "" : fmt::format("{} is {:.6g} {}", what, value, row.unit);
}

std::string RowRequirement::missed_ratio(const Comparison& comparison, const ComparedRow& row, size_t target) const {
  const std::string what = fmt::format("{}, {} to {}", row.name, comparison.targets[target], comparison.targets[0]);
  const PairedRatio ratio = row.ratio_of_values(target);
  if (ratio.rounds < 2) return what + ": unknown: two rounds or more are required";
  if (row.has_bounds(target)) return what + " is unknown: calls had no reply";
  return meets(of_times_ ? ratio.high : ratio.low)
             ? ""
             : fmt::format("{}, is {:.1f} % to {:.1f} %", what, ratio.low * 100, ratio.high * 100);
}

std::string RowRequirement::mistake(const Comparison& comparison) const {
  std::vector<std::string> names;
  for (const ComparedRow& row : comparison.rows) {
    if (concerns(row))
      return row.is_time == of_times_ ? ""
                                      : fmt::format("--require {}: {} is a {}, give {}", text_, row.name,
                                                    row.is_time ? "time" : "rate", row.is_time ? "<=" : ">=");
    names.push_back(row.name);
  }
  return fmt::format("--require {}: no row with this name was measured; rows are {}", text_, fmt::join(names, ", "));
}

std::vector<std::string> RowRequirement::missed(const Comparison& comparison) const {
  std::vector<std::string> lines;
  for (const ComparedRow& row : comparison.rows) {
    if (!concerns(row)) continue;
    for (size_t target = is_ratio_; target < comparison.targets.size(); ++target) {
      const std::string what = is_ratio_ ? missed_ratio(comparison, row, target) : missed_value(comparison, row, target);
      if (!what.empty()) lines.push_back(fmt::format("required {}: {}", text_, what));
    }
  }
  return lines;
}

}  // namespace fsr::fsbench
