// SPDX-License-Identifier: Apache-2.0
// Tables of a page about a trace: the files or commands that took the most time. No state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stat_groups.hpp"
#include "util/html_page.hpp"

namespace fsr::fstrace {

// The operations that a file or a command took part in.
struct HotPart {
  std::string name;
  const Measure* measure = nullptr;
};
constexpr size_t kHot = 20;  // parts that are shown
// Adds the table `id` with the `parts` that took the most time. `what`: the heading of their names.
void add_hot_table(HtmlPage& page, const std::string& id, const char* caption, const char* what, std::vector<HotPart> parts);

}  // namespace fsr::fstrace
