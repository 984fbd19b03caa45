// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/pages/run_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "workloads/vdbench/pages/output_directory.hpp"
#include "workloads/vdbench/pages/parts.hpp"

namespace fsr::vdbench {

namespace {

constexpr unsigned kIndent = 33;

std::string place_of(const PlannedRun& run) { return fmt::format("_{}", std::hash<std::string>()(run.title()) % 4'294'967'296); }

}  // namespace

std::string run_links(const std::vector<PlannedRun>& runs) {
  std::string text, words = "Link to Run Definitions:";
  for (const PlannedRun& run : runs) {
    text += fmt::format("{:<{}}<A HREF=\"#{}\">{} For loops: {}</A>\n", words, kIndent, place_of(run), html_text(run.name),
                        html_text(run.loops));
    words.clear();
  }
  return text.empty() ? text : text + "\n";
}

std::string run_heading(const RunRecord& record, const std::string& title) {
  return fmt::format("\n<a name=\"{}\"></a><i><b>{}</b></i>\n\n", place_of(*record.run), html_text(title));
}

std::string page_links(const char* what, const std::vector<std::string>& names) {
  std::string text = fmt::format("{:<{}}", fmt::format("Link to {} reports:", what), kIndent);
  for (const std::string& name : names) text += fmt::format("<A HREF=\"{0}.html\">{0}</A>    ", html_text(page_name(name)));
  return text + "\n";
}

std::string part_links(const std::vector<PlannedRun>& runs, bool of_storages) {
  std::string text;
  for (const PartKind kind : {PartKind::storage, PartKind::workload}) {
    if (kind == PartKind::storage && !of_storages) continue;
    std::vector<std::string> names;
    for (const PlannedRun& run : runs)
      for (const RunPart& part : parts_of(run, kind))
        if (std::find(names.begin(), names.end(), part.name) == names.end()) names.push_back(part.name);
    if (!names.empty()) text += page_links(part_words(runs.front(), kind), names);
  }
  return text;
}

}  // namespace fsr::vdbench
