// SPDX-License-Identifier: Apache-2.0
// fsshim list
#include <cstdio>

#include "control.hpp"
#include "subcommands.hpp"

namespace fsr {

int run_list() {
  std::vector<FoundCapture> captures = find_captures();
  if (captures.empty()) {
    puts("no captures");
    return 0;
  }
  printf("%-8s %-10s %12s  %s -> %s\n", "PID", "STATE", "OPERATIONS", "DIRECTORY", "TRACE");
  for (FoundCapture& c : captures)
    printf("%-8d %-10s %12s  %s -> %s\n", int(c.pid), c.alive ? c.info["state"].c_str() : "died",
           c.alive ? c.info["operations"].c_str() : "-", c.info["directory"].c_str(), c.info["trace"].c_str());
  return 0;
}

}  // namespace fsr
