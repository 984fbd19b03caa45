// SPDX-License-Identifier: Apache-2.0
// Prints lines of results in the columns of a version of vdbench.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workloads/vdbench/pages/figures.hpp"

namespace fsr::vdbench {

// Versions of vdbench whose columns the consoles, pages and flatfiles may have.
enum class Layout : uint8_t { v500, v50406, v50407 };  // 5.00 differs from 5.04.06 in the lines of runs on SDs alone
Layout layout_of(const std::string& version);

// Returns a right-aligned number with as many decimals as the width allows, at most `decimals`.
std::string fit(double value, unsigned width, unsigned decimals);
std::string clock_text(int64_t wall);                      // returns "09:12:17.073"
std::string date_text(int64_t wall);                       // returns "Nov 20, 2026"
std::string timed(int64_t wall, const std::string& text);  // with clock_text() in front of each line

class Columns {
 public:
  virtual ~Columns() = default;
  // Returns two lines, both without the time.
  virtual std::string heading(int64_t wall) const = 0;
  virtual std::string line(const RunLine& line) const = 0;  // with the time
  // part_heading() and part_line(): for tables of some works, whose first column is a name.
  virtual std::string part_heading(const std::string& what) const = 0;
  virtual std::string part_line(const std::string& name, const Figures& figures, double seconds) const = 0;
};

// Makes the columns for trees of files or for SDs, whichever the runs use.
std::unique_ptr<Columns> make_columns(const std::vector<PlannedRun>& runs, Layout layout);

}  // namespace fsr::vdbench
