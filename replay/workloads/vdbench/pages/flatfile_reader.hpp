// SPDX-License-Identifier: Apache-2.0
// Reads flatfile.html, ours or the original's, after the runs. Makes CSV of chosen columns, and compares the averages of two
// files. Both throw std::runtime_error, one line, with file and line.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fsr::vdbench {

struct FlatRequest {
  std::string input;                                         // a file, or the directory that it is in
  std::vector<std::string> columns;                          // empty: all
  std::vector<std::pair<std::string, std::string>> filters;  // column, value; all must hold
  bool averages = false;                                     // no single intervals
};

// Lines of CSV, the first with the names. Runs that only format are left out.
std::string flat_csv(const FlatRequest& request);

// The averages of all runs in two output directories: rates and response times, and by how many percent they differ. Runs are
// paired by name, in their order.
std::string compare_flat(const std::string& older, const std::string& newer);

}  // namespace fsr::vdbench
