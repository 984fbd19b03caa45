// SPDX-License-Identifier: Apache-2.0
// The machine of a run, for readers of its results. Never throws: unknown values are empty or 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fsr {

struct Environment {
  std::string host, kernel;
  std::string cpu;  // its model
  unsigned cpus = 0;
  uint64_t memory = 0;    // bytes
  std::string directory;  // the current one
};

// Short hash of the commit that this was built from; empty if the sources were not under git.
extern const char* const kCommit;

Environment environment();
// The mount of a directory, or of the nearest parent that exists: "server:/export nfs4 rw,vers=4.2".
std::string mount_text(const std::string& directory);
// The words of the command line of this process.
std::vector<std::string> own_command();
// A command line as a shell would read it again.
std::string command_text(const std::vector<std::string>& words);

}  // namespace fsr
