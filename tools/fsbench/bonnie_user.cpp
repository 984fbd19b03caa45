// SPDX-License-Identifier: Apache-2.0
#include "bonnie_user.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <stdexcept>

namespace fsr::fsbench {

namespace {

std::optional<unsigned> number(const std::string& text) {
  unsigned value;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

gid_t group_id(const std::string& name) {
  if (auto id = number(name)) return *id;
  const group* found = getgrnam(name.c_str());
  if (!found) throw std::runtime_error("can't find group " + name);
  return found->gr_gid;
}

}  // namespace

void become(const std::string& user, const std::string& group) {
  uid_t uid = geteuid();
  gid_t gid = getegid();
  if (!user.empty()) {
    const auto id = number(user);
    const passwd* found = id ? getpwuid(*id) : getpwnam(user.c_str());
    if (!found && !id) throw std::runtime_error("can't find user " + user);
    uid = found ? found->pw_uid : *id;
    gid = found ? found->pw_gid : group_id("nogroup");
  }
  if (!group.empty()) gid = group_id(group);
  // If the group list of root remained, it would still allow what the user may not do.
  if ((geteuid() == 0 && setgroups(1, &gid) != 0) || setgid(gid) != 0)
    throw std::runtime_error(fmt::format("can't set gid to {}: {}", gid, strerror(errno)));
  if (setuid(uid) != 0) throw std::runtime_error(fmt::format("can't set uid to {}: {}", uid, strerror(errno)));
}

}  // namespace fsr::fsbench
