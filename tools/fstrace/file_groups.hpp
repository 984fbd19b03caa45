// SPDX-License-Identifier: Apache-2.0
// Groups of operations by path. A path may have had several files in turn: a journal that is removed and created anew is another
// file each time. No state.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "stat_groups.hpp"
#include "trace/paths.hpp"

namespace fsr::fstrace {

struct FileGroup {
  std::string path;  // last known name
  size_t files = 0;  // number of files that had this path
  Measure measure;
  void add(const Measure& of_another_file) {
    ++files;
    measure.merge(of_another_file);
  }
};

// Takes the groups out of `by_file`, which is grouped by Dimension::file alone. In order of the first operation.
std::vector<FileGroup> groups_by_path(StatGroups& by_file, const Paths& paths);

}  // namespace fsr::fstrace
