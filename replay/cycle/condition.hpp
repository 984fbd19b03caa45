// SPDX-License-Identifier: Apache-2.0
// What a load must keep within: "p99 < 10ms", "mean < 2ms and errors < 0.1%". Of response times, from when operations were due,
// so that a target that falls behind is not flattered. No state.
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
  // Terms joined by "and": pN, mean or max below a time, or errors below a share in percent. Throws std::invalid_argument, one
  // line.
  explicit Condition(std::string_view text);

  // How near a run came to breaking it: below 1 it holds. The worst of its terms. A run also breaks it if more than 1 % of what
  // was due got no answer, if a percentile is a lower bound only, and, without a term for errors, if any outcome is not as
  // expected.
  double strain(const RunResult& run) const;
  // The measured value of that term: "p99 8.3 ms"; or what else broke it.
  std::string measured(const RunResult& run) const;
  // What a run must have for its value to tell loads apart that differ by a twentieth (ScaleSearch::kWithin).
  RunLength least() const;
  const std::string& text() const { return text_; }

 private:
  struct Bound {
    enum class Of : uint8_t { quantile, mean, max, errors } of;
    double quantile;  // 0 to 1; 0 of the others
    double limit;     // ns, or a share
    std::string name;
  };
  static Bound parse(std::string_view text);
  static double value(const Bound& term, const RunResult& run);
  static double strain(const Bound& term, const RunResult& run);
  static bool unknown(const Bound& term, const RunResult& run);
  std::string broken(const RunResult& run) const;
  const Bound& worst(const RunResult& run) const;

  std::string text_;
  std::vector<Bound> terms_;
  bool allows_errors_ = false;
};

}  // namespace fsr
