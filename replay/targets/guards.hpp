// SPDX-License-Identifier: Apache-2.0
// Checks for names, modes and attributes that targets refuse to send, because a trace is untrusted input.
#pragma once

#include <errno.h>
#include <sys/stat.h>

#include <cstdint>
#include <string_view>

#include "op.hpp"

namespace fsr {

// Returns the errno of a name that could leave its directory or has more than 4096 bytes. 0: the name may be sent. Shorter names
// of 256 bytes or more are sent, because the server refuses them itself.
inline int name_error(std::string_view name) {
  constexpr size_t kLongestName = 4096;
  if (name.size() > kLongestName) return ENAMETOOLONG;
  if (name.size() <= 255) return valid_component(name) ? 0 : EINVAL;
  return name.find('/') != std::string_view::npos || name.find('\0') != std::string_view::npos ? EINVAL : 0;
}

// Returns the set-id bits of `mode` that give rights to a user who runs the file. A directory's set-group-id bit is not one of
// them: it only sets the group of new files.
inline uint32_t set_id_bits(uint32_t mode) { return mode & (S_ISUID | (S_ISDIR(mode) ? 0u : uint32_t(S_ISGID))); }

// True: only privileged users may set this extended attribute.
inline bool is_guarded_xattr(std::string_view name) { return name.starts_with("trusted.") || name.starts_with("security."); }

}  // namespace fsr
