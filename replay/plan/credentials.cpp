// SPDX-License-Identifier: Apache-2.0
#include "plan/credentials.hpp"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace fsr {

// Parses "7" or "7:8". False: `text` is neither.
static bool parse_pair(std::string_view text, uint32_t* uid, int64_t* gid) {
  const char* end = text.data() + text.size();
  auto [after, error] = std::from_chars(text.data(), end, *uid);
  if (error != std::errc()) return false;
  *gid = -1;
  if (after == end) return true;
  if (*after != ':') return false;
  uint32_t group;
  auto [last, failed] = std::from_chars(after + 1, end, group);
  if (failed != std::errc() || last != end) return false;
  *gid = group;
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
      throw std::runtime_error(fmt::format("{}:{}: expected 'uid[:gid] newuid[:newgid]'", name, number));
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
