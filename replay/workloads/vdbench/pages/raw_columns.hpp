// SPDX-License-Identifier: Apache-2.0
// The columns of runs on SDs. Constant once made.
#pragma once

#include <string>

#include "workloads/vdbench/pages/columns.hpp"

namespace fsr::vdbench {

class RawColumns final : public Columns {
 public:
  explicit RawColumns(Layout layout) : layout_(layout) {}
  std::string heading(int64_t wall) const override;
  std::string line(const RunLine& line) const override;
  std::string part_heading(const std::string& what) const override;
  std::string part_line(const std::string& name, const Figures& figures, double seconds) const override;

 private:
  const Layout layout_;
};

}  // namespace fsr::vdbench
