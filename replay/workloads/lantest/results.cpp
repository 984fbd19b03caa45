// SPDX-License-Identifier: Apache-2.0
#include "workloads/lantest/results.hpp"

#include <algorithm>
#include <cmath>

namespace fsr::lantest {

namespace {

constexpr size_t kMostWithOutliers = 5;  // iterations

}  // namespace

Summary summarize(const std::vector<TestRun>& runs, Measure measure) {
  std::vector<uint64_t> values;
  for (const TestRun& run : runs) values.push_back(run.measures[measure]);
  if (values.size() > kMostWithOutliers) {
    const auto least = std::min_element(values.begin(), values.end());
    const auto most = std::max_element(values.begin(), values.end());
    *least = *most = 0;
  }
  std::erase(values, 0);
  if (values.empty()) return {};
  uint64_t sum = 0;
  for (const uint64_t value : values) sum += value;
  Summary summary{.mean = sum / values.size()};
  if (values.size() < 2) return summary;
  double squares = 0;
  for (const uint64_t value : values) squares += std::pow(double(value) - double(summary.mean), 2);
  summary.deviation = std::sqrt(squares / double(values.size() - 1));
  return summary;
}

std::optional<uint64_t> megabytes_per_second(uint64_t bytes, uint64_t milliseconds) {
  if (milliseconds == 0) return {};
  return bytes / 1000 / milliseconds;
}

}  // namespace fsr::lantest
