// SPDX-License-Identifier: Apache-2.0
// Processes that a capture cannot see because they hold files, mappings or their working directory below it already.
#pragma once

#include <string>
#include <vector>

namespace fsr::shim {

// Each process is "PID COMMAND".
struct UnseenProcesses {
  std::vector<std::string> processes;
  std::vector<std::string> mapping;        // the processes among these that have a file mapped shared and writable
  std::vector<std::string> not_looked_at;  // each held up the look at it for a second: they wait for something themselves
};

// `directory` is absolute and resolved. This process is left out. Child processes do the looking; none is waited for that a
// process holds up, however long (proc_read.hpp). Call before any descriptor of the FUSE device exists. Throws CaptureError.
UnseenProcesses processes_below(const std::string& directory);

}  // namespace fsr::shim
