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

namespace fsr::shim {

namespace {

int stop_running(const FoundCapture& capture) {
  ControlFields answer;
  if (!capture.answered || !ask_capture(capture.pid, "stop", &answer)) {
    dprintf(STDERR_FILENO, "fsshim: process %d does not answer; 'kill -9 %d' ends it, its trace then ends there\n",
            int(capture.pid), int(capture.pid));
    return 1;
  }
  std::string still = answer["still_mounted"];
  for (const MountEntry& m : mounts())
    if (still.empty() && is_mount_of(answer, m)) still = "in this mount namespace, on " + escape_text(m.point);
  const std::string done = answer["operations"] + " operations in " + answer["trace"];
  if (still.empty() && answer["failure"].empty()) printf("stopped: %s\n", done.c_str());
  if (!still.empty())
    dprintf(STDERR_FILENO, "fsshim: recording ended (%s), but %s is still mounted: %s\n", done.c_str(),
            answer["directory"].c_str(), still.c_str());
  if (!answer["failure"].empty())
    dprintf(STDERR_FILENO, "fsshim: %s: not complete: %s\n", answer["trace"].c_str(), answer["failure"].c_str());
  return answer["failure"].empty() && still.empty() ? 0 : 1;
}

}  // namespace

int run_stop(const std::string& given) {
  std::string directory = resolve_captured(given);
  std::string written = escape_text(directory);
  bool found = false;
  int status = 0;
  for (FoundCapture& capture : find_captures_of(directory)) {
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
    if (const std::string why = take_away(own_mount(*top)); !why.empty()) throw Fail(directory + ": still mounted: " + why);
    printf("%s: unmounted what a dead capture had left\n", written.c_str());
    found = true;
  }
  if (!found) {
    dprintf(STDERR_FILENO, "fsshim: %s: not captured (by this user)\n", written.c_str());
    return 1;
  }
  return status;
}

}  // namespace fsr::shim
