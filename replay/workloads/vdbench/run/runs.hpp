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
  // Opens what the runs work on. Throws std::runtime_error.
  virtual void open(const std::vector<PlannedRun>& runs) = 0;
  // Checks what journals say of an earlier process, and goes on from there. Throws std::runtime_error for what can't be gone on
  // with.
  virtual void recover() = 0;
  // Returns the runs that must format SDs first although the parameter file does not ask for it.
  virtual std::vector<PlannedRun> formats() { return {}; }
  // Sets in `ends_all` whether no other run is to follow. Throws std::runtime_error for what can't be gone on with.
  virtual RunRecord perform(const PlannedRun& run, bool* ends_all) = 0;
  virtual uint64_t errors() const = 0;  // so far
};

}  // namespace fsr::vdbench
