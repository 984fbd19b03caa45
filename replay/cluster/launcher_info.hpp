// SPDX-License-Identifier: Apache-2.0
// Ranks that an MPI launcher started, on one host or several.
//
// The code that uses MPI is a module, compiled once for each implementation of MPI. It is loaded only under a launcher, so that
// other runs need no MPI and do not wait for its start.
#pragma once

#include <memory>

#include "cluster/cluster.hpp"
#include "cluster/transport.hpp"

namespace fsr {

// Rank, number of ranks and implementation of MPI, which the environment variables of the launcher give.
struct LauncherInfo {
  unsigned rank = 0, size = 1;
  const char* implementation = nullptr;  // "openmpi", "mpich"; null: there is no launcher
};
LauncherInfo launch();

// Loads the module for the launcher's MPI and joins the other ranks. Throws std::runtime_error if the module is missing or
// broken, or if MPI does not start.
std::unique_ptr<Transport> join_launched(const LauncherInfo& launch);

}  // namespace fsr
