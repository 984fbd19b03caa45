// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/pages/parts.hpp"

#include <algorithm>

namespace fsr::vdbench {

const char* part_words(const PlannedRun& run, PartKind kind) {
  if (run.raw_works.empty()) return kind == PartKind::storage ? "FSD" : "FWD";
  return kind == PartKind::storage ? "SD" : "WD";
}

std::vector<RunPart> parts_of(const PlannedRun& run, PartKind kind) {
  std::vector<RunPart> parts;
  auto add = [&](const std::string& name, double share, size_t work) {
    auto part = std::find_if(parts.begin(), parts.end(), [&](const RunPart& p) { return p.name == name; });
    if (part == parts.end()) part = parts.insert(parts.end(), RunPart{.name = name, .share = 0, .works = {}});
    part->share += share;
    part->works.push_back(work);
  };
  for (size_t w = 0; w < run.raw_works.size(); ++w) {
    const RawWork& work = run.raw_works[w];
    add(kind == PartKind::storage ? run.storages[work.storage].name : work.workload.name, work.share, w);
  }
  for (size_t w = 0; w < run.file_works.size(); ++w) {
    const FileWork& work = run.file_works[w];
    add(kind == PartKind::storage ? run.systems[work.system].name : work.workload.name, work.share, w);
  }
  return parts;
}

Figures figures_of(const RunPart& part, const RunLine& line) {
  Figures figures;
  for (size_t work : part.works) figures.merge(line.works[work]);
  return figures;
}

}  // namespace fsr::vdbench
