// SPDX-License-Identifier: Apache-2.0
#include "file_groups.hpp"

#include <unordered_map>

namespace fsr::fstrace {

std::vector<FileGroup> groups_by_path(StatGroups& by_file, const Paths& paths) {
  std::vector<FileGroup> out;
  std::unordered_map<std::string, size_t> known;
  for (StatGroups::Group& group : by_file.take()) {
    std::string path = by_file.labels(group, paths)[0].text;
    const auto [at, fresh] = known.try_emplace(path, out.size());
    if (fresh)
      out.push_back({std::move(path), 1, std::move(group.measure)});
    else
      out[at->second].add(group.measure);
  }
  return out;
}

}  // namespace fsr::fstrace
