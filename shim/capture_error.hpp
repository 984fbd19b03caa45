// SPDX-License-Identifier: Apache-2.0
// Error that prevents a capture from starting. what() is the line that the user sees. Messages go out by dprintf(3): a line is
// one write, and waits for no lock that a cancelled thread of libfuse may hold.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>

namespace fsr::shim {

struct CaptureError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The command can't be executed. `status`: what a shell says then, 127 not found, 126 otherwise.
struct CommandError : CaptureError {
  CommandError(const std::string& line, int exit_status) : CaptureError(line), status(exit_status) {}
  int status;
};

inline CaptureError failed(const std::string& subject, int error) { return CaptureError(subject + ": " + strerror(error)); }

}  // namespace fsr::shim
