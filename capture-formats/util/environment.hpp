// SPDX-License-Identifier: Apache-2.0
// Where something ran, for those who read its results later. Never throws: what can't be found out is empty or 0.
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

// Of the sources that this was built from, short; empty where they were not under git.
extern const char* const kCommit;

Environment environment();
// What a directory, or the nearest of its parents that exists, is mounted from: "server:/export nfs4 rw,vers=4.2".
std::string mount_text(const std::string& directory);
// A command line as a shell would read it again.
std::string command_text(const std::vector<std::string>& words);

}  // namespace fsr
