// SPDX-License-Identifier: Apache-2.0
// The mounts in /proc/self/mountinfo. Functions never throw: the result is empty if nothing can be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fsr {

struct MountEntry {
  uint64_t id = 0, parent = 0;
  uint64_t dev = 0;  // makedev
  std::string point, options, type, source;
  std::string root;  // directory of the file system that is mounted
};

// The text of a process's mountinfo: the mounts of its namespace, oldest first.
std::vector<MountEntry> parse_mountinfo(const std::string& text);
// The mounts of this process's namespace.
std::vector<MountEntry> own_mounts();
bool lies_inside(const MountEntry& mount, const std::string& directory);

// The mount that a descriptor lies on.
std::optional<MountEntry> mount_of(int fd);
// The mounts that a walk down from that directory meets first, as paths relative to it.
std::vector<std::string> mount_points_below(int dir_fd);

}  // namespace fsr
