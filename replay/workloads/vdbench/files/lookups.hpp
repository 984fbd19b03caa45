// SPDX-License-Identifier: Apache-2.0
// Looks up each existing file and directory once, before its first use. The target does not know those that another rank or an
// earlier program has made.
#pragma once

#include <cstdint>

#include "base/task.hpp"
#include "threads/sim_context.hpp"
#include "workloads/vdbench/files/anchor.hpp"

namespace fsr::vdbench {

// Make the target know the directory or file, and all directories above it. Return 0 or an errno.
Task look_up_directory(SimContext& sim, Anchor& anchor, uint64_t directory);
Task look_up_file(SimContext& sim, Anchor& anchor, uint32_t file);

}  // namespace fsr::vdbench
