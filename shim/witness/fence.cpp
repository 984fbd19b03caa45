// SPDX-License-Identifier: Apache-2.0
#include "fence.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>
#include <utility>

#include "../capture_error.hpp"
#include "../control.hpp"
#include "util/units.hpp"

namespace fsr::shim {

namespace {

std::string error_of(const std::string& path) { return path + ": can't be mounted over itself"; }

// Returns a copy of the mounts at and below the directory, not attached yet. The copy hears of changes of the originals, but does
// not pass its own on to them. So its end does not unmount what is mounted inside the directory for others (mount_namespaces(7)).
UniqueFd copied_mounts(int directory, const std::string& path) {
  UniqueFd tree(open_tree(directory, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE));
  if (!tree) throw failed(error_of(path), errno);
  mount_attr slave{};
  slave.propagation = MS_SLAVE;
  if (mount_setattr(tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &slave, sizeof slave) != 0) throw failed(error_of(path), errno);
  return tree;
}

void attach(const UniqueFd& tree, int directory, const std::string& path) {
  if (move_mount(tree.get(), "", directory, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
    throw failed(error_of(path), errno);
}

// Id of a mount that is not attached yet, as mountinfo names it later (proc(5), fdinfo).
uint64_t mount_id(int fd) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(fd));
  for (std::string word; info >> word;)
    if (word == "mnt_id:") {
      uint64_t id = 0;
      info >> id;
      return id;
    }
  return 0;
}

bool is_at_or_below(const std::string& path, const std::string& folder) {
  return path == folder || folder == "/" || path.starts_with(folder + "/");
}

// Refuses a fence above or below another one, because one would hide the other, or take it away.
void refuse_second(const std::string& directory) {
  const std::string own = escape_text(directory);
  for (FoundCapture& other : find_captures(0)) {
    const std::string there = other.info["directory"];
    if (other.alive && other.pid != getpid() && other.info["fence"] == "shared" &&
        (is_at_or_below(own, there) || is_at_or_below(there, own)))
      throw CaptureError(directory +
                         (own == there ? ": already captured" : ": lies in or above " + there + ", which is captured") +
                         " (see 'fsshim list')");
  }
}

// Ids of the mounts that are attached below `mount`.
std::set<uint64_t> mounts_on(uint64_t mount) {
  std::set<uint64_t> found{mount};
  const std::vector<MountEntry> all = mounts();
  for (bool more = true; more;) {
    more = false;
    for (const MountEntry& m : all)
      if (found.contains(m.parent) && found.insert(m.id).second) more = true;
  }
  found.erase(mount);
  return found;
}

}  // namespace

void mount_private_fence(const CapturedDirectory& captured) {
  enter_private_namespace(false);
  const UniqueFd here(open_directory(captured.path));
  same_directory_or_fail(here.get(), captured.root.get(), captured.path);
  attach(copied_mounts(here.get(), captured.path), here.get(), captured.path);
}

Fence::Fence(const CapturedDirectory& captured, int log_fd, ControlServer& control)
    : way_(captured.root.get()), watcher_(way_, captured.path, log_fd) {
  const UniqueFd alone = lock_starts();
  refuse_second(captured.path);
  const UniqueFd tree = copied_mounts(captured.root.get(), captured.path);
  OwnMount made = identity_of(captured.below);
  made.id = mount_id(tree.get());
  if (made.id == 0) throw CaptureError(error_of(captured.path) + ": /proc/self/fdinfo can't be read");
  watcher_.arm(made);  // before the mount can be left behind
  try {
    attach(tree, captured.root.get(), captured.path);
  } catch (...) {
    watcher_.arm({});
    throw;
  }
  mount_ = made;
  inside_ = mounts_on(mount_.id);
  control.set_field("fence", "shared");  // while other starts wait
}

bool Fence::gone() const {
  const std::vector<MountEntry> all = mounts();
  return mount_.dev && std::none_of(all.begin(), all.end(), [&](const MountEntry& m) { return m.id == mount_.id; });
}

std::string Fence::remove() {
  if (!mount_.dev) return {};
  for (const uint64_t id : mounts_on(mount_.id))
    if (!inside_.contains(id)) {
      watcher_.arm({});
      return "something was mounted inside meanwhile, which would go as well; unmount it, then the directory";
    }
  return take_away(std::exchange(mount_, {}), &way_);
}

}  // namespace fsr::shim
