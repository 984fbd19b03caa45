// SPDX-License-Identifier: Apache-2.0
// Tables of a page about a trace: cells, and the files or commands that took the most time. No state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stat_groups.hpp"
#include "util/html_page.hpp"

namespace fsr::fstrace {

HtmlPage::Cell count_cell(uint64_t n);
HtmlPage::Cell size_cell(uint64_t bytes);
HtmlPage::Cell duration_cell(int64_t ns);
HtmlPage::Cell share_cell(uint64_t part, uint64_t whole);

// The operations that a file or a command took part in.
struct HotPart {
  std::string name;
  const Measure* measure = nullptr;
};
constexpr size_t kHot = 20;  // parts that are shown
// Adds the table `id` with the `parts` that took the most time. `what`: the heading of their names.
void add_hot_table(HtmlPage& page, const std::string& id, const char* caption, const char* what, std::vector<HotPart> parts);

}  // namespace fsr::fstrace
