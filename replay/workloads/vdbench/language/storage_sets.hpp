// SPDX-License-Identifier: Apache-2.0
// The words single, range and setsofN in sd= of an RD. They mean a run on each SD, on more and more SDs, or on sets of SDs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workloads/vdbench/language/settings.hpp"

namespace fsr::vdbench {

struct StorageSet {
  std::string suffix;  // of the RD's name: "_sd1_sd2"
  std::vector<size_t> storages;
};

// Returns the sets, each for a run of its own. None: the parameter names SDs. setsofN takes the SDs in the order of 5.04, which
// is random, but always the same. Throws ParameterError for N that is not a number.
std::optional<std::vector<StorageSet>> storage_sets(const Parameter& sd, const std::vector<std::string>& names);

}  // namespace fsr::vdbench
