// SPDX-License-Identifier: Apache-2.0
// Prints groups of operations on standard output, as text, as one JSON object or as CSV, table by table as they come.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>

#include "stat_groups.hpp"

namespace fsr::fstrace {

// A group and its labels.
struct StatRow {
  std::vector<Label> labels;
  const Measure* measure = nullptr;
};

// A stretch of time, ns: [from, to). `interval`: start of the interval that it is (a part of).
struct StatStretch {
  int64_t interval = 0, from = 0, to = 0;
};

class StatOutput {
 public:
  virtual ~StatOutput() = default;
  // The groups of the operations that started in `stretch`. `left_out`: how many more there were.
  virtual void table(const StatStretch& stretch, const std::vector<StatRow>& rows, size_t left_out) = 0;
  virtual void end(int64_t from, int64_t to, const Measure& total) = 0;

 protected:
  static void print(fmt::memory_buffer& out);  // prints `out` and empties it
};

struct StatShape {
  std::string file;
  std::vector<Dimension> by;
  int64_t interval = 0;  // ns, 0: one table
};

std::unique_ptr<StatOutput> stat_text(const StatShape& shape);
std::unique_ptr<StatOutput> stat_json(const StatShape& shape);
std::unique_ptr<StatOutput> stat_csv(const StatShape& shape);

}  // namespace fsr::fstrace
