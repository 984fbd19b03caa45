// SPDX-License-Identifier: Apache-2.0
#include "util/account.hpp"

#include <grp.h>
#include <pwd.h>

#include <charconv>

namespace fsr {

static std::optional<uint32_t> number(const std::string& text) {
  uint32_t value;
  const char* end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || after != end) return std::nullopt;
  return value;
}

std::optional<uint32_t> user_id(const std::string& text) {
  if (const auto id = number(text)) return id;
  const passwd* entry = getpwnam(text.c_str());
  return entry ? std::optional<uint32_t>(entry->pw_uid) : std::nullopt;
}

std::optional<uint32_t> group_id(const std::string& text) {
  if (const auto id = number(text)) return id;
  const group* entry = getgrnam(text.c_str());
  return entry ? std::optional<uint32_t>(entry->gr_gid) : std::nullopt;
}

}  // namespace fsr
