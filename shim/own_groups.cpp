// SPDX-License-Identifier: Apache-2.0
#include "own_groups.hpp"

#include <grp.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "id_maps.hpp"

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
  const std::vector<IdRange> mapped = subordinate_gids();
  std::erase_if(groups, [&](gid_t gid) {
    return std::any_of(mapped.begin(), mapped.end(), [gid](IdRange r) { return gid >= r.first && gid - r.first < r.count; });
  });
  const bool more_ids = !mapped.empty() || !subordinate_uids().empty();
  std::string names;
  for (const gid_t gid : groups) names += (names.empty() ? "" : ", ") + name_of(gid);
  return "without root, applications can change only files of this user and of the group " + name_of(getegid()) +
         (more_ids ? ", and of the user's subordinate ids" : "") +
         (names.empty() ? "" : "; membership in " + names + " gives no right to files of other users");
}

}  // namespace fsr::shim
