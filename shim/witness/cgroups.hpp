// SPDX-License-Identifier: Apache-2.0
// Finds control groups (cgroup version 2) that a capture is limited to.
#pragma once

#include <string>
#include <vector>

#include "util/unique_fd.hpp"

namespace fsr::shim {

struct ChosenCgroup {
  std::string path;  // of its directory
  UniqueFd fd;

  // Whether it was removed, also if another group has its path since, as when a service or a container starts anew.
  bool ended() const;
};

// `path`: a directory of the cgroup file system, or a group as /proc/PID/cgroup names it. Throws CaptureError, also
// for the root group.
ChosenCgroup cgroup_at(const std::string& path);

// Finds the group of a pod or container among the groups below `top`, of which each is a directory. Their names end with its id,
// such as kubepods-burstable-podUID.slice (with _ for - in UID), libpod-ID.scope, docker/ID. `name`: the id, or 12 or more of its
// first hexadecimal digits; or the whole name of the directory. Groups inside a found one are not looked at. Returns all of them.
std::vector<std::string> pods_named(const std::string& name, const std::string& top);

// Throws CaptureError unless exactly one group has that name.
ChosenCgroup cgroup_of_pod(const std::string& name);

}  // namespace fsr::shim
