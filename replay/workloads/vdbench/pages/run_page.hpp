// SPDX-License-Identifier: Apache-2.0
// Interface of pages that follow the runs. One thread.
#pragma once

#include "workloads/vdbench/pages/figures.hpp"

namespace fsr::vdbench {

class RunPage {
 public:
  virtual ~RunPage() = default;
  // `title`: first line of the run: "09:11:51.002 Starting RD=run1; I/O rate: 1000; elapsed=4; For loops: None".
  virtual void begin(const RunRecord&, const std::string& /*title*/) {}
  virtual void interval(const RunRecord&) {}  // the last interval
  virtual void end(const RunRecord&) {}
  virtual void finish() {}  // after all runs
};

}  // namespace fsr::vdbench
