// SPDX-License-Identifier: Apache-2.0
// Reads a flatfile.html of this program or the original, after the runs. Makes CSV of chosen columns, and compares the averages
// of two files. Both throw std::runtime_error, one line, with file and line.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fsr::vdbench {

struct FlatRequest {
  std::string input;                                         // a file, or its directory
  std::vector<std::string> columns;                          // empty: all
  std::vector<std::pair<std::string, std::string>> filters;  // (column, value); lines must match all
  bool averages = false;                                     // leaves out intervals
};

// Returns lines of CSV, the first with the names. Leaves out runs that only format.
std::string flat_csv(const FlatRequest& request);

// Compares the averages of all runs in two output directories: rates and response times, and their differences in percent. Runs
// are paired by name, in their order.
std::string compare_flat(const std::string& older, const std::string& newer);

}  // namespace fsr::vdbench
