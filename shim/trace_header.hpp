// SPDX-License-Identifier: Apache-2.0
// Fills the header of a trace with the properties of its capture.
#pragma once

#include <string>

#include "mount.hpp"
#include "subcommands.hpp"
#include "trace/header.hpp"

namespace fsr::shim {

// `below`: the mount that `directory` is on. `mappings`: what is seen of mappings. The time of the start is still to come.
TraceHeader describe(const CaptureOptions& options, const std::string& directory, const MountEntry& below,
                     const std::string& mappings);

}  // namespace fsr::shim
