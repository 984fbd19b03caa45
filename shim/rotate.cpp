// SPDX-License-Identifier: Apache-2.0
// fsshim rotate DIR
#include <unistd.h>

#include <cstdio>

#include "control.hpp"
#include "mount.hpp"
#include "subcommands.hpp"
#include "util/units.hpp"

namespace fsr::shim {

int run_rotate(const std::string& given) {
  const std::string directory = resolve_captured(given);
  bool found = false;
  int status = 0;
  for (FoundCapture& capture : find_captures_of(directory)) {
    if (!capture.alive) continue;
    found = true;
    ControlFields answer;
    if (!capture.answered || !ask_capture(capture.pid, "rotate", &answer)) answer["failure"] = "does not answer";
    if (!answer["failure"].empty()) {
      dprintf(STDERR_FILENO, "fsshim: process %d: %s\n", int(capture.pid), answer["failure"].c_str());
      status = 1;
      continue;
    }
    printf("%s: piece %s begins\n", answer["trace"].c_str(), answer["pieces"].c_str());
  }
  if (!found) {
    dprintf(STDERR_FILENO, "fsshim: %s: not captured by this user (see 'fsshim list')\n", escape_text(directory).c_str());
    return 1;
  }
  return status;
}

}  // namespace fsr::shim
