// SPDX-License-Identifier: Apache-2.0
// The columns of runs on trees of files. Constant once made.
#pragma once

#include <string>
#include <vector>

#include "workloads/vdbench/pages/columns.hpp"

namespace fsr::vdbench {

class FileColumns final : public Columns {
 public:
  // Some operations always have columns; others only if a run performs them.
  explicit FileColumns(const std::vector<PlannedRun>& runs);
  std::string heading(int64_t wall) const override;
  std::string line(const RunLine& line) const override;
  std::string part_heading(const std::string& what) const override;
  std::string part_line(const std::string& name, const Figures& figures, double seconds) const override;

 private:
  std::string numbers(const Figures& figures, double seconds, const CpuUse* cpu) const;
  std::vector<Operation> operations_;
};

}  // namespace fsr::vdbench
