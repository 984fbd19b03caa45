// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/pages/detail_pages.hpp"

#include <algorithm>

namespace fsr::vdbench {

std::vector<RunPart> DetailPages::parts(const RunRecord& record) const {
  std::vector<RunPart> parts = parts_of(*record.run, PartKind::workload);
  auto is_named = [&](const std::string& name) {
    return std::any_of(parts.begin(), parts.end(), [&](const RunPart& part) { return part.name == name; });
  };
  if (of_storages_)
    for (RunPart& part : parts_of(*record.run, PartKind::storage))
      if (!is_named(part.name)) parts.push_back(std::move(part));
  RunPart host{.name = "localhost", .share = 100, .works = {}};
  for (size_t w = 0; w < record.run->works(); ++w) host.works.push_back(w);
  parts.push_back(std::move(host));
  return parts;
}

Page& DetailPages::page(const std::string& name) {
  std::unique_ptr<Page>& page = pages_[name];
  if (!page) {
    std::string file = name;
    std::replace(file.begin(), file.end(), '/', '_');
    page = std::make_unique<Page>(directory_, file);
  }
  return *page;
}

void DetailPages::begin(const RunRecord& record, const std::string& title) {
  for (const RunPart& part : parts(record))
    page(part.name).put("\n<i><b>" + html_text(title) + "</b></i>\n\n" + columns_.heading(record.wall));
}

void DetailPages::put(const RunRecord& record, const RunLine& line) {
  for (const RunPart& part : parts(record)) {
    RunLine its = line;
    its.all = figures_of(part, line);
    page(part.name).put(columns_.line(its));
  }
}

void DetailPages::interval(const RunRecord& record) { put(record, record.intervals.back()); }
void DetailPages::end(const RunRecord& record) { put(record, record.average); }

}  // namespace fsr::vdbench
