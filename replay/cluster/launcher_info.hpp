// SPDX-License-Identifier: Apache-2.0
// Ranks that a launcher of MPI started, on one host or many.
//
// What speaks MPI is a module of its own for each implementation, loaded only here: nobody else needs MPI, or the time that it
// takes to start.
#pragma once

#include <memory>

#include "cluster/cluster.hpp"
#include "cluster/transport.hpp"

namespace fsr {

// What the launcher told this process.
struct LauncherInfo {
  unsigned rank = 0, size = 1;
  const char* implementation = nullptr;  // "openmpi", "mpich"; null: there is no launcher
};
LauncherInfo launch();

// Throws std::runtime_error: no such module, MPI or the module is broken.
std::unique_ptr<Transport> join_launched(const LauncherInfo& launch);

}  // namespace fsr
