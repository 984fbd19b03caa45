// SPDX-License-Identifier: Apache-2.0
#include "bonnie_user.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "util/account.hpp"

namespace fsr::fsbench {

namespace {

gid_t known_group(const std::string& name) {
  const auto id = group_id(name);
  if (!id) throw std::runtime_error("can't find group " + name);
  return *id;
}

}  // namespace

void become(const std::string& user, const std::string& group) {
  uid_t uid = geteuid();
  gid_t gid = getegid();
  if (!user.empty()) {
    const auto id = user_id(user);
    if (!id) throw std::runtime_error("can't find user " + user);
    const passwd* found = getpwuid(*id);
    uid = *id;
    gid = found ? found->pw_gid : known_group("nogroup");
  }
  if (!group.empty()) gid = known_group(group);
  // If the group list of root remained, it would still allow what the user may not do.
  if ((geteuid() == 0 && setgroups(1, &gid) != 0) || setgid(gid) != 0)
    throw std::runtime_error(fmt::format("can't set gid to {}: {}", gid, strerror(errno)));
  if (setuid(uid) != 0) throw std::runtime_error(fmt::format("can't set uid to {}: {}", uid, strerror(errno)));
}

}  // namespace fsr::fsbench
