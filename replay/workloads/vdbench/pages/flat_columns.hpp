// SPDX-License-Identifier: Apache-2.0
// The columns of flatfile.html after the two with the time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workloads/vdbench/pages/figures.hpp"
#include "workloads/vdbench/pages/layout.hpp"

namespace fsr::vdbench {

struct FlatColumn {
  std::string name, words;
  std::function<std::string(const RunRecord& record, const RunLine& line)> value;
};

// `of_files`: of runs on trees of files.
std::vector<FlatColumn> flat_columns(bool of_files, Layout layout);

}  // namespace fsr::vdbench
