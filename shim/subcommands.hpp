// SPDX-License-Identifier: Apache-2.0
// The subcommands of fsshim. Each returns the exit status and throws Fail when it could not start.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fsr {

struct CaptureOptions {
  std::string directory;
  std::string output;  // empty: default name
  bool content = false;
  uint32_t clock_unit = 1;  // ns
  bool verbose = false;
  std::vector<std::string> command;
};

int run_capture(const CaptureOptions& options);
int run_list();
int run_stop(const std::string& directory);

}  // namespace fsr
