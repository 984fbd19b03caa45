// SPDX-License-Identifier: Apache-2.0
// What exists is looked up before it is used, once: where another rank or an earlier program made it, the target doesn't know it.
#pragma once

#include <cstdint>

#include "base/task.hpp"
#include "threads/sim_context.hpp"
#include "workloads/vdbench/files/anchor.hpp"

namespace fsr::vdbench {

// The target knows the directory or file, and the directories above it, when this yields 0; otherwise it yields an errno.
Task look_up_directory(SimContext& sim, Anchor& anchor, uint64_t directory);
Task look_up_file(SimContext& sim, Anchor& anchor, uint32_t file);

}  // namespace fsr::vdbench
