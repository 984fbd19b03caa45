// SPDX-License-Identifier: Apache-2.0
// What targets refuse to send on from a trace, which is untrusted input.
#pragma once

#include <errno.h>
#include <sys/stat.h>

#include <cstdint>
#include <string_view>

#include "op.hpp"

namespace fsr {

// The errno of a name that could leave its directory or is absurdly long, else 0. From 256 bytes on the server says so itself.
inline int name_error(std::string_view name) {
  constexpr size_t kLongestName = 4096;
  if (name.size() > kLongestName) return ENAMETOOLONG;
  if (name.size() <= 255) return valid_component(name) ? 0 : EINVAL;
  return name.find('/') != std::string_view::npos || name.find('\0') != std::string_view::npos ? EINVAL : 0;
}

// Set-id bits that give rights to whoever runs the file. A directory's set-group-id bit only says whose group new files get.
inline uint32_t set_id_bits(uint32_t mode) { return mode & (S_ISUID | (S_ISDIR(mode) ? 0u : uint32_t(S_ISGID))); }

// Extended attributes that only the privileged may set.
inline bool is_guarded_xattr(std::string_view name) { return name.starts_with("trusted.") || name.starts_with("security."); }

}  // namespace fsr
