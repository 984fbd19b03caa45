// SPDX-License-Identifier: Apache-2.0
#include "plan/credentials.hpp"

#include <fmt/format.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "util/account.hpp"

namespace fsr {

// Parses "7" or "7:8", or names in their place. False: `text` is neither.
static bool parse_pair(const std::string& text, uint32_t* uid, int64_t* gid) {
  const size_t colon = text.find(':');
  const auto user = user_id(text.substr(0, colon));
  const auto group = colon == text.npos ? std::nullopt : group_id(text.substr(colon + 1));
  if (!user || (colon != text.npos && !group)) return false;
  *uid = *user;
  *gid = group ? int64_t(*group) : -1;
  return true;
}

CredentialMap CredentialMap::parse(const std::string& text, const std::string& name) {
  CredentialMap map;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line = line.substr(0, line.find('#'));
    std::istringstream words(line);
    std::string from, to, more;
    if (!(words >> from)) continue;
    uint32_t uid;
    int64_t gid;
    Entry entry;
    if (!(words >> to) || words >> more || !parse_pair(from, &uid, &gid) || !parse_pair(to, &entry.uid, &entry.gid))
      throw std::runtime_error(fmt::format("{}:{}: expected 'uid[:gid] newuid[:newgid]', by number or name", name, number));
    if (gid < 0)
      map.users_[uid] = entry;
    else
      map.exact_[uint64_t(uid) << 32 | uint64_t(gid)] = entry;
  }
  return map;
}

CredentialMap CredentialMap::from_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file) throw std::runtime_error(path + ": can't be read");
  text << file.rdbuf();
  return parse(text.str(), path);
}

Credentials CredentialMap::map(uint32_t uid, uint32_t gid) const {
  const Entry* entry = nullptr;
  if (auto exact = exact_.find(uint64_t(uid) << 32 | gid); exact != exact_.end())
    entry = &exact->second;
  else if (auto user = users_.find(uid); user != users_.end())
    entry = &user->second;
  if (!entry) return {uid, gid};
  return {entry->uid, entry->gid < 0 ? gid : uint32_t(entry->gid)};
}

}  // namespace fsr
