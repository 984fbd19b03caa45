// SPDX-License-Identifier: Apache-2.0
// Prints service times in vdbench's buckets, and as percentiles, which vdbench lacks. No state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/vdbench/pages/figures.hpp"

namespace fsr::vdbench {

// Returns the text for all operations together and by kind. `edges`: upper edges of the buckets, ns, ascending. Empty: vdbench's
// own.
std::string histogram_text(const Figures& figures, bool files, const std::vector<int64_t>& edges);

}  // namespace fsr::vdbench
