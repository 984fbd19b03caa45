// SPDX-License-Identifier: Apache-2.0
// fsshim stop DIR
#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "control.hpp"
#include "fail.hpp"
#include "mount.hpp"
#include "subcommands.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

// realpath() that never touches the last component: it may be a dead mount.
std::string resolve(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  size_t slash = path.find_last_of('/');
  std::string last = slash == std::string::npos ? path : path.substr(slash + 1);
  char resolved[PATH_MAX];
  if (last.empty() || last == "." || last == ".." || !is_dead_mount(path)) {
    if (realpath(path.c_str(), resolved)) return resolved;
    // A capture that died is still known by that name.
    if (errno == ENOENT && path.starts_with('/')) return path;
    if (errno == ENOENT && getcwd(resolved, sizeof resolved)) return std::string(resolved) + "/" + path;
    throw failed(path, errno);
  }
  std::string parent = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  if (!realpath(parent.c_str(), resolved)) throw failed(path, errno);
  std::string base = resolved;
  return (base == "/" ? "" : base) + "/" + last;
}

int stop_running(const FoundCapture& capture) {
  ControlFields answer;
  if (!ask_capture(capture.pid, "stop", &answer)) {
    fprintf(stderr, "fsshim: process %d does not answer\n", int(capture.pid));
    return 1;
  }
  printf("stopped: %s operations in %s\n", answer["operations"].c_str(), answer["trace"].c_str());
  return answer["failure"].empty() ? 0 : 1;
}

}  // namespace

int run_stop(const std::string& given) {
  std::string directory = resolve(given);
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
  if (is_dead_mount(directory)) {
    std::optional<MountEntry> top = mount_at(directory);
    if (!top || top->type != kMountType) throw Fail(directory + ": a dead mount, but not one of fsshim's");
    if (!take_away(directory, top->dev)) throw failed(directory + ": unmounting", errno);
    printf("%s: unmounted what a dead capture had left\n", written.c_str());
    found = true;
  }
  if (!found) {
    fprintf(stderr, "fsshim: %s: not captured (by this user)\n", written.c_str());
    return 1;
  }
  return status;
}

}  // namespace fsr
