// SPDX-License-Identifier: Apache-2.0
// fsshim stop DIR
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "control.hpp"
#include "fail.hpp"
#include "mount.hpp"
#include "subcommands.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

int stop_running(const FoundCapture& capture) {
  ControlFields answer;
  if (!capture.answered || !ask_capture(capture.pid, "stop", &answer)) {
    dprintf(STDERR_FILENO, "fsshim: process %d does not answer; 'kill -9 %d' ends it, its trace then ends there\n",
            int(capture.pid), int(capture.pid));
    return 1;
  }
  printf("stopped: %s operations in %s\n", answer["operations"].c_str(), answer["trace"].c_str());
  return answer["failure"].empty() ? 0 : 1;
}

}  // namespace

int run_stop(const std::string& given) {
  std::string directory = resolve_captured(given);
  std::string written = escape_text(directory);
  bool found = false;
  int status = 0;
  for (FoundCapture& capture : find_captures()) {
    if (capture.info["directory"] != written) continue;
    found = true;
    if (capture.alive) {
      status = std::max(status, stop_running(capture));
      continue;
    }
    forget_capture(capture.pid);
    printf("the capture by process %d died; its trace %s ends where it died\n", int(capture.pid), capture.info["trace"].c_str());
  }
  if (status == 0 && is_dead_mount(directory)) {
    std::optional<MountEntry> top = mount_at(directory);
    if (!top || top->type != kMountType) throw Fail(directory + ": a dead mount, but not one of fsshim's");
    if (!take_away(directory, top->dev)) throw failed(directory + ": unmounting", errno);
    printf("%s: unmounted what a dead capture had left\n", written.c_str());
    found = true;
  }
  if (!found) {
    dprintf(STDERR_FILENO, "fsshim: %s: not captured (by this user)\n", written.c_str());
    return 1;
  }
  return status;
}

}  // namespace fsr
