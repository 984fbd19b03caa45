// SPDX-License-Identifier: Apache-2.0
// Command-line options of programs that run on ranks.
#pragma once

#include "cluster/cluster.hpp"
#include "util/command.hpp"

namespace fsr {

// Adds --ranks and --patience.
void add_rank_options(Command& command, ClusterOptions& options);

}  // namespace fsr
