// SPDX-License-Identifier: Apache-2.0
#include "own_groups.hpp"

#include <grp.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace fsr::shim {

namespace {

std::string name_of(gid_t gid) {
  const group* entry = getgrgid(gid);
  return entry ? entry->gr_name : std::to_string(gid);
}

}  // namespace

std::string limits_without_root() {
  if (geteuid() == 0) return {};
  std::vector<gid_t> groups(size_t(std::max(0, getgroups(0, nullptr))));
  if (getgroups(int(groups.size()), groups.data()) < 0) groups.clear();
  std::erase(groups, getegid());
  std::string names;
  for (const gid_t gid : groups) names += (names.empty() ? "" : ", ") + name_of(gid);
  return "without root, only files of this user and its group " + name_of(getegid()) + " can be changed" +
         (names.empty() ? "" : "; membership in " + names + " has no effect on others");
}

}  // namespace fsr::shim
