// SPDX-License-Identifier: Apache-2.0
// Ranks that are forked. A pair of sockets connects each of them to the root.
#pragma once

#include <memory>

#include "cluster/cluster.hpp"
#include "cluster/transport.hpp"

namespace fsr {

// Returns in each rank, as open_cluster() does. Throws std::runtime_error.
std::unique_ptr<Transport> fork_ranks(const ClusterOptions& options);

}  // namespace fsr
