// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/pages/detail_pages.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/vdbench/pages/histogram_text.hpp"
#include "workloads/vdbench/pages/run_links.hpp"

namespace fsr::vdbench {

std::vector<RunPart> DetailPages::parts(const RunRecord& record) const {
  std::vector<RunPart> parts = parts_of(*record.run, PartKind::workload);
  auto is_named = [&](const std::string& name) {
    return std::any_of(parts.begin(), parts.end(), [&](const RunPart& part) { return part.name == name; });
  };
  if (general_.storage_pages)
    for (RunPart& part : parts_of(*record.run, PartKind::storage))
      if (!is_named(part.name)) parts.push_back(std::move(part));
  RunPart host{.name = "localhost", .share = 100, .works = {}};
  for (size_t w = 0; w < record.run->works(); ++w) host.works.push_back(w);
  parts.push_back(std::move(host));
  return parts;
}

Page& DetailPages::page(const std::string& name, const std::string& heading) {
  std::unique_ptr<Page>& page = pages_[name];
  if (!page) {
    page = std::make_unique<Page>(directory_, page_name(name));
    page->put(html_text(heading));
  }
  return *page;
}

void DetailPages::begin(const RunRecord& record, const std::string& title) {
  const std::string heading = run_heading(record, title);
  const std::vector<RunPart> all = parts(record);
  for (const RunPart& part : all) {
    const bool host = &part == &all.back();
    page(part.name, fmt::format("Report for {}\n", part.name)).put(heading + "\n" + columns_.heading(record.wall));
    if (!host && general_.histogram_shown)
      page(part.name + ".histogram", fmt::format("Response time histogram of {}\n", part.name)).put(heading);
  }
}

void DetailPages::put(const RunRecord& record, const RunLine& line) {
  for (const RunPart& part : parts(record)) {
    RunLine its = line;
    its.all = figures_of(part, line);
    page(part.name).put(columns_.line(its));
  }
}

void DetailPages::interval(const RunRecord& record) { put(record, record.latest); }

void DetailPages::end(const RunRecord& record) {
  put(record, record.average);
  if (!general_.histogram_shown) return;
  std::vector<RunPart> all = parts(record);
  all.pop_back();  // the page of the host has all of them
  for (const RunPart& part : all)
    page(part.name + ".histogram")
        .put(histogram_text(figures_of(part, record.average), !record.run->systems.empty(), general_.histogram));
}

}  // namespace fsr::vdbench
