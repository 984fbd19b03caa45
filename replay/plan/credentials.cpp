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

// True: `text` may name a principal: "alice", "alice@EXAMPLE.COM", "nfs/host@EXAMPLE.COM". A number or a pair is none, because it
// belongs to a map of accounts.
static bool names_principal(const std::string& text) {
  if (text.find_first_not_of("0123456789") == text.npos || text.find(':') != text.npos) return false;
  const size_t at = text.find('@');
  return at == text.npos || (at > 0 && at + 1 < text.size() && text.find('@', at + 1) == text.npos);
}

CredentialMap CredentialMap::parse(const std::string& text, const std::string& name, To to) {
  CredentialMap map;
  map.to_ = to;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    auto refuse = [&](const std::string& why) { throw std::runtime_error(fmt::format("{}:{}: {}", name, number, why)); };
    line = line.substr(0, line.find('#'));
    std::istringstream words(line);
    std::string from, into, more;
    if (!(words >> from)) continue;
    uint32_t uid = 0;
    int64_t gid = -1;
    Entry entry;
    const bool pair = words >> into && !(words >> more) && parse_pair(from, &uid, &gid);
    if (to == To::principals) {
      if (!pair || !names_principal(into))
        refuse("expected 'uid[:gid] principal', such as '1000 alice@EXAMPLE.COM', because the target has Kerberos");
      entry = {.uid = uid, .principal = map.number_of(into)};
    } else if (!pair || !parse_pair(into, &entry.uid, &entry.gid)) {
      refuse("expected 'uid[:gid] newuid[:newgid]', by number or name" +
             std::string(into.find('@') == into.npos ? "" : "; a principal needs sec=krb5, krb5i or krb5p in the target's URL"));
    }
    Entry& place = gid < 0 ? map.users_[uid] : map.exact_[uint64_t(uid) << 32 | uint64_t(gid)];
    if (place.principal && place.principal != entry.principal)
      refuse(fmt::format("'{}' has the principal {} already; expected one line for each user", from,
                         map.principals_[place.principal - 1]));
    place = entry;
  }
  return map;
}

uint32_t CredentialMap::number_of(const std::string& principal) {
  const auto [at, is_new] = numbers_.try_emplace(principal, uint32_t(principals_.size() + 1));
  if (is_new) principals_.push_back(principal);
  return at->second;
}

CredentialMap CredentialMap::from_file(const std::string& path, To to) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file) throw std::runtime_error(path + ": can't be read");
  text << file.rdbuf();
  return parse(text.str(), path, to);
}

Credentials CredentialMap::map(uint32_t uid, uint32_t gid) const {
  const Entry* entry = nullptr;
  if (auto exact = exact_.find(uint64_t(uid) << 32 | gid); exact != exact_.end())
    entry = &exact->second;
  else if (auto user = users_.find(uid); user != users_.end())
    entry = &user->second;
  if (to_ == To::principals) return {uid, gid, entry ? entry->principal : kNoPrincipal};
  if (!entry) return {uid, gid};
  return {entry->uid, entry->gid < 0 ? gid : uint32_t(entry->gid)};
}

}  // namespace fsr
