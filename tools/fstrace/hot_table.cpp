// SPDX-License-Identifier: Apache-2.0
#include "hot_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "util/histogram_chart.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

void add_hot_table(HtmlPage& page, const std::string& id, const char* caption, const char* what, std::vector<HotPart> parts) {
  double whole = 0;
  for (const HotPart& part : parts) whole += part.measure->latency.sum();
  std::stable_sort(parts.begin(), parts.end(),
                   [](const HotPart& a, const HotPart& b) { return a.measure->latency.sum() > b.measure->latency.sum(); });
  HtmlPage::Table t{.caption = caption, .headings = {what, "time", "operations", "failed", "read", "written", "p50", "p99"}};
  t.id = id;
  for (const auto& [name, measure] : parts) {
    if (t.rows.size() == kHot) break;
    const Measure& m = *measure;
    t.rows.push_back({name.empty() ? "?" : name, duration_cell(int64_t(m.latency.sum())), count_cell(m.operations),
                      count_cell(m.failed), size_cell(m.read_bytes), size_cell(m.written_bytes),
                      duration_cell(m.latency.quantile(0.5)), duration_cell(m.latency.quantile(0.99))});
    t.bars.push_back(whole > 0 ? m.latency.sum() / whole : 0);
  }
  page.table(t);
  if (parts.size() > kHot) page.paragraph(fmt::format("{} more are not shown.", format_count(parts.size() - kHot)));
}

}  // namespace fsr::fstrace
