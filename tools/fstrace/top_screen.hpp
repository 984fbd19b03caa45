// SPDX-License-Identifier: Apache-2.0
// The text of fstrace top: what a stretch of a trace did, by kind, process and file, fitted to the width of a terminal. No state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stat_groups.hpp"

namespace fsr::fstrace {

enum class TopSort : uint8_t { time, operations, bytes };

struct TopRow {
  std::string name;
  const Measure* measure = nullptr;
};

struct TopTable {
  std::string heading;
  std::vector<TopRow> rows;
  bool keeps_end = false;  // true: a name that is too long loses its beginning, as paths should; false: its end
};

struct TopScreen {
  std::string trace, state;  // name of the trace; "not complete yet"
  int64_t from = 0, to = 0;  // ns: the stretch
  Measure total;
  std::vector<TopTable> tables;
  TopSort sort = TopSort::time;
  size_t columns = 80;  // at least 80
  size_t most = 10;     // rows of each table
};

// Returns lines that are at most `columns` wide.
std::string top_text(TopScreen screen);

}  // namespace fsr::fstrace
