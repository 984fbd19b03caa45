// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/pages/columns.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "util/clock_ns.hpp"

namespace fsr::vdbench {

std::string fit(double value, unsigned width, unsigned decimals) {
  for (unsigned d = decimals + 1; d-- > 0;) {
    std::string text = fmt::format("{:{}.{}f}", value, width, d);
    if (text.size() <= width || d == 0) return text;
  }
  return {};
}

std::string clock_text(int64_t wall) {
  return fmt::format("{:%H:%M:%S}.{:03}", fmt::localtime(time_t(wall / kSecond)), wall % kSecond / 1'000'000);
}

std::string date_text(int64_t wall) { return fmt::format("{:%b %d, %Y}", fmt::localtime(time_t(wall / kSecond))); }

std::unique_ptr<Columns> make_columns(const std::vector<PlannedRun>& runs, Layout layout) {
  return !runs.empty() && runs[0].systems.empty() ? raw_columns(layout) : file_columns(runs);
}

}  // namespace fsr::vdbench
