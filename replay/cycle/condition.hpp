// SPDX-License-Identifier: Apache-2.0
// A limit on response times and errors that a load must meet: "p99 < 10ms", "mean < 2ms and errors < 0.1%". Response times count
// from when operations were due. Otherwise a target that falls behind would look better than it is. Constant once made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fsr {

struct RunLength;
struct RunResult;

class Condition {
 public:
  // Parses bounds joined by "and": pN, mean or max below a time, or errors below a percentage. Throws std::invalid_argument, one
  // line.
  explicit Condition(std::string_view text);

  // Returns how near a run came to breaking the condition: the largest ratio of a measured value to its limit. Below 1: the
  // condition holds. A run also breaks it if more than 1 % of the operations due got no answer, or if a percentile is only a
  // lower bound. A schedule that was missed by more than a tenth of its length breaks it, too. Without a bound for errors,
  // every outcome that is not as expected breaks it.
  double strain(const RunResult& run) const;
  // Returns the measured value of the worst bound ("p99 8.3 ms"), or what else broke the condition.
  std::string measured(const RunResult& run) const;
  // Returns how long a run must be so that its value distinguishes loads that differ by 5 % (ScaleSearch::kWithin).
  RunLength least() const;
  const std::string& text() const { return text_; }

 private:
  struct Bound {
    enum class Of : uint8_t { quantile, mean, max, errors } of;
    double quantile;  // 0 to 1; for other bounds than a quantile: 0
    double limit;     // ns, or a share from 0 to 1 (errors)
    std::string name;
  };
  static Bound parse(std::string_view text);
  static double value(const Bound& bound, const RunResult& run);
  static double strain(const Bound& bound, const RunResult& run);
  static bool unknown(const Bound& bound, const RunResult& run);
  std::string broken(const RunResult& run) const;
  const Bound& worst(const RunResult& run) const;

  std::string text_;
  std::vector<Bound> bounds_;
  bool allows_errors_ = false;
};

}  // namespace fsr
