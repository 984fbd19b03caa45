// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace fsr {

// Returns the kind that a target's URL begins with, "nfs" of "nfs://host/x". Empty: `url` is a directory's path.
inline std::string_view scheme_of(std::string_view url) {
  const size_t end = url.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+");
  return end != 0 && end != url.npos && url[end] == ':' ? url.substr(0, end) : std::string_view();
}

// True: `url` begins with a kind of target that exists, and a colon.
bool names_target(const std::string& url);

// Throws std::runtime_error if `url` only resembles a URL: server:/export, as mount(8) takes it, or the name of a kind without
// its colon. A directory of that name is accepted.
void refuse_near_url(const std::string& url);

}  // namespace fsr
