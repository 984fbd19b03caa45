// SPDX-License-Identifier: Apache-2.0
// Lines of results in vdbench 5.04's columns.
#pragma once

#include <string>

#include "workloads/vdbench/pages/figures.hpp"

namespace fsr::vdbench {

// Right-aligned, with as many decimals as fit into the width, `decimals` at most.
std::string fit(double value, unsigned width, unsigned decimals);
std::string clock_text(int64_t wall);  // "09:12:17.073"
std::string date_text(int64_t wall);   // "Nov 20, 2026"

// Which operations have columns beside those that always have.
class FileColumns {
 public:
  explicit FileColumns(const std::vector<PlannedRun>& runs);

  // Two lines, both without the time.
  std::string heading(int64_t wall) const;
  std::string line(const RunLine& line) const;  // with the time
  // For tables of a part of the works, whose first column holds a name.
  std::string part_heading(const std::string& what) const;
  std::string part_line(const std::string& name, const Figures& figures, double seconds) const;

 private:
  std::string numbers(const Figures& figures, double seconds, const CpuUse* cpu) const;
  std::vector<Operation> operations_;
};

}  // namespace fsr::vdbench
