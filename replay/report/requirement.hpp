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
  // Parses NAME OPERATOR VALUE. Names with a time: pN, mean and max of the response. Names with a percentage: errors (of the
  // issued operations) and achieved (of the offered load). Name with a rate: achieved. Names with a number of operations:
  // differed, failed, unanswered, unfinished, overdue and inexpressible. Throws std::invalid_argument, one line.
  explicit Requirement(std::string_view text);

  // Returns the value that misses the requirement: "p99 is 12.3 ms". Empty: the run meets the requirement.
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
  double limit_ = 0;     // ns, a share, operations per second, or a number
};

}  // namespace fsr
