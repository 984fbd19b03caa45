// SPDX-License-Identifier: Apache-2.0
// fsshim stop [--now] DIR
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "capture_error.hpp"
#include "control.hpp"
#include "mount.hpp"
#include "subcommands.hpp"
#include "util/unique_fd.hpp"
#include "util/units.hpp"

namespace fsr::shim {

namespace {

constexpr int kEndMs = 5000;  // for a process that has nothing left to do but close its files

// Waits for the end of the process: until then it holds the directory open, whose file system could not be unmounted.
void wait_for_end(int process) {
  pollfd ended{process, POLLIN, 0};
  if (process >= 0) poll(&ended, 1, kEndMs);
}

int stop_running(const FoundCapture& capture, bool now) {
  ControlFields answer;
  const UniqueFd process(int(syscall(SYS_pidfd_open, capture.pid, 0)));
  if (!capture.answered || !ask_capture(capture.pid, now ? "stop now" : "stop", &answer)) {
    if (has_ended(capture.pid)) {
      wait_for_end(process.get());
      ControlFields fields = capture.info;
      printf("the capture into %s had ended already\n", fields["trace"].c_str());
      return 0;
    }
    dprintf(STDERR_FILENO, "fsshim: process %d does not answer; 'kill -9 %d' ends the capture, and the trace at that point\n",
            int(capture.pid), int(capture.pid));
    return 1;
  }
  if (!answer["ends"].empty()) wait_for_end(process.get());
  std::string still = answer["still_mounted"];
  const std::string served = answer["served"];
  for (const MountEntry& m : mounts())
    if (still.empty() && served.empty() && is_mount_of(answer, m)) still = "in this mount namespace, on " + escape_text(m.point);
  const std::string done = answer["operations"] + " operations in " + answer["trace"];
  if (still.empty() && answer["failure"].empty()) printf("stopped: %s\n", done.c_str());
  if (!served.empty())
    printf("still serving %s; 'fsshim stop --now %s' cuts these processes off\n", served.c_str(), answer["directory"].c_str());
  if (!still.empty())
    dprintf(STDERR_FILENO, "fsshim: recording ended (%s), but %s is still mounted: %s\n", done.c_str(),
            answer["directory"].c_str(), still.c_str());
  if (!answer["failure"].empty())
    dprintf(STDERR_FILENO, "fsshim: %s: not complete: %s\n", answer["trace"].c_str(), answer["failure"].c_str());
  return answer["failure"].empty() && still.empty() ? 0 : 1;
}

}  // namespace

int run_stop(const std::string& given, bool now) {
  std::string directory = resolve_captured(given);
  std::string written = escape_text(directory);
  bool found = false;
  int status = 0;
  for (FoundCapture& capture : find_captures_of(directory)) {
    found = true;
    if (capture.alive) {
      status = std::max(status, stop_running(capture, now));
      continue;
    }
    forget_capture(capture.pid);
    printf("the capture by process %d died; the trace %s ends at that point\n", int(capture.pid), capture.info["trace"].c_str());
  }
  if (status == 0 && is_dead_mount(directory)) {
    std::optional<MountEntry> top = mount_at(directory);
    if (!top || top->type != kMountType)
      throw CaptureError(directory + ": a dead mount of another program than fsshim; unmount with umount -l");
    if (const std::string why = take_away(own_mount(*top)); !why.empty())
      throw CaptureError(directory + ": still mounted: " + why);
    printf("%s: unmounted; a capture that died had left the mount\n", written.c_str());
    found = true;
  }
  if (!found) {
    dprintf(STDERR_FILENO, "fsshim: %s: not captured by this user (see 'fsshim list')\n", written.c_str());
    return 1;
  }
  return status;
}

}  // namespace fsr::shim
