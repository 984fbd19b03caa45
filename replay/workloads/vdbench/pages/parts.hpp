// SPDX-License-Identifier: Apache-2.0
// Groups the works of a run by their SD or FSD, or by their WD or FWD.
#pragma once

#include <string>
#include <vector>

#include "workloads/vdbench/pages/figures.hpp"

namespace fsr::vdbench {

struct RunPart {
  std::string name;  // "sd1"
  double share = 0;  // percent of the requested rate
  std::vector<size_t> works;
};

enum class PartKind : uint8_t { storage, workload };  // SD or FSD, WD or FWD

// Returns "SD", "FSD", "WD" or "FWD".
const char* part_words(const PlannedRun& run, PartKind kind);
// Returns the parts in the order of their first works.
std::vector<RunPart> parts_of(const PlannedRun& run, PartKind kind);
Figures figures_of(const RunPart& part, const RunLine& line);

}  // namespace fsr::vdbench
