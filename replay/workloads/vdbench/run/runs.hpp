// SPDX-License-Identifier: Apache-2.0
// Executes the runs of a parameter file, on SDs or on FSDs. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/vdbench/pages/figures.hpp"
#include "workloads/vdbench/plan/planned_run.hpp"

namespace fsr::vdbench {

class Runs {
 public:
  virtual ~Runs() = default;
  // Opens the SDs or targets of the runs. Throws std::runtime_error.
  virtual void open(const std::vector<PlannedRun>& runs) = 0;
  // Exchanges what ranks know of their SDs. Collective; call this after all ranks have called open().
  virtual void share() {}
  // Compares with the journals of an earlier process, and continues from their state. Throws std::runtime_error if that is not
  // possible.
  virtual void recover() = 0;
  // Returns runs that format SDs before the others, although the parameter file does not request them.
  virtual std::vector<PlannedRun> formats() { return {}; }
  // Executes a run. `ends_all`: set to true if no other run is to follow. Throws std::runtime_error if no other run is possible.
  virtual RunRecord perform(const PlannedRun& run, bool* ends_all) = 0;
  virtual uint64_t errors() const = 0;  // number so far
};

}  // namespace fsr::vdbench
