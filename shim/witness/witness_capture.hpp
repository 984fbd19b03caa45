// SPDX-License-Identifier: Apache-2.0
// fsshim capture DIR --via kernel [-- COMMAND]: records at the kernel's own hooks, and mounts no file system.
#pragma once

#include <string>

#include "../subcommands.hpp"

namespace fsr::shim {

// Returns why such a capture is not possible here, or not with these options, in one line. Empty: it is.
std::string why_not_witness(const CaptureOptions& options);

// Returns the exit status. Throws CaptureError if the capture can't start, and for options that belong to FUSE.
int run_witness_capture(CaptureOptions& options);

}  // namespace fsr::shim
