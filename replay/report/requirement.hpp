// SPDX-License-Identifier: Apache-2.0
// A condition on a run: "p99 < 10ms", "achieved >= 99%", "differed == 0". No state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fsr {

struct RunResult;

class Requirement {
 public:
  // NAME OPERATOR VALUE. Names: pN, mean and max of the response, with a time; errors and achieved, in percent of what was issued
  // and of what was offered, or achieved a second; differed, failed, unanswered, unfinished, overdue and inexpressible
  // operations. Throws std::invalid_argument, one line.
  explicit Requirement(std::string_view text);

  // Empty if the run meets the requirement, otherwise what the run came to: "p99 is 12.3 ms".
  std::string missed(const RunResult& run) const;
  const std::string& text() const { return text_; }

 private:
  enum class Figure : uint8_t {
    quantile,
    mean,
    errors,
    achieved_share,
    achieved,
    differed,
    failed,
    unanswered,
    unfinished,
    overdue,
    inexpressible
  };
  double value(const RunResult& run) const;
  bool is_lower_bound(const RunResult& run) const;
  uint64_t least_operations() const;
  std::string shown(double value) const;
  bool compares(double value) const;

  std::string text_, name_, operator_;
  Figure figure_ = Figure::quantile;
  double quantile_ = 0;  // 0 to 1
  double limit_ = 0;     // ns, a share, a second, or a number
};

}  // namespace fsr
