// SPDX-License-Identifier: Apache-2.0
// A page of the output directory that follows the runs. One thread.
#pragma once

#include "workloads/vdbench/pages/figures.hpp"

namespace fsr::vdbench {

class RunPage {
 public:
  virtual ~RunPage() = default;
  // `title` is the line that a run begins with: "09:11:51.002 Starting RD=run1; I/O rate: 1000; elapsed=4; For loops: None".
  virtual void begin(const RunRecord&, const std::string& /*title*/) {}
  virtual void interval(const RunRecord&) {}  // its latest
  virtual void end(const RunRecord&) {}
  virtual void finish() {}  // of all runs
};

}  // namespace fsr::vdbench
