// SPDX-License-Identifier: Apache-2.0
#include "fence.hpp"

#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "../capture_error.hpp"
#include "../control.hpp"
#include "util/units.hpp"

namespace fsr::shim {

namespace {

void mount_over_itself(int directory, const std::string& path) {
  const std::string point = "/proc/self/fd/" + std::to_string(directory);
  if (mount(point.c_str(), point.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    throw failed(path + ": can't be mounted over itself", errno);
}

// A second fence would hide the first one.
void refuse_second(const std::string& directory) {
  for (FoundCapture& other : find_captures(0))
    if (other.alive && other.pid != getpid() && other.info["directory"] == escape_text(directory) &&
        other.info["fence"] == "shared")
      throw CaptureError(directory + ": already captured (see 'fsshim list')");
}

}  // namespace

void mount_private_fence(const CapturedDirectory& captured) {
  enter_private_namespace(false);
  const UniqueFd here(open_directory(captured.path));
  same_directory_or_fail(here.get(), captured.root.get(), captured.path);
  mount_over_itself(here.get(), captured.path);
}

Fence::Fence(const CapturedDirectory& captured, int log_fd) : way_(captured.root.get()), watcher_(way_, captured.path, log_fd) {
  const UniqueFd alone = lock_starts();
  refuse_second(captured.path);
  mount_over_itself(captured.root.get(), captured.path);
  const UniqueFd top(way_.open_top());
  const std::optional<MountEntry> made = top ? mount_of(top.get()) : std::nullopt;
  if (!made) throw CaptureError(captured.path + ": the mount over the directory is not reachable");
  mount_ = identity_of(*made);
  try {
    watcher_.arm(mount_);
  } catch (...) {
    remove();
    throw;
  }
}

std::string Fence::remove() { return mount_.dev ? take_away(std::exchange(mount_, {}), &way_) : std::string(); }

}  // namespace fsr::shim
