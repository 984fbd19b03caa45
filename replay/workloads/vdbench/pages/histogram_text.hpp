// SPDX-License-Identifier: Apache-2.0
// Service times in vdbench's buckets, and by percentiles, which it has not. No state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/vdbench/pages/figures.hpp"

namespace fsr::vdbench {

// Text for all operations together and by kind. `edges`: upper edges of the buckets, ns, ascending; empty: vdbench's own.
std::string histogram_text(const Figures& figures, bool files, const std::vector<int64_t>& edges);

}  // namespace fsr::vdbench
