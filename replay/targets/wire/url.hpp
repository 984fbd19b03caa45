// SPDX-License-Identifier: Apache-2.0
// The URL of a network target: scheme://[user@]host[:port]/path[?option=value&...]. An IPv6 address stands in brackets. %XX is
// decoded everywhere but in the scheme and the port.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fsr::wire {

struct Url {
  std::string text;  // as given
  std::string scheme, user, host, path;
  uint16_t port = 0;  // 0 = not given
  std::vector<std::pair<std::string, std::string>> options;

  const std::string* option(std::string_view name) const;  // nullptr: not given
  // A whole number between `low` and `high`, or `otherwise` if not given. Throws std::runtime_error, one line.
  uint64_t number(std::string_view name, uint64_t low, uint64_t high, uint64_t otherwise) const;
  // Throws std::runtime_error if an option other than these is given: a misspelt one must not be ignored.
  void allow_options(std::initializer_list<std::string_view> names) const;
};

// Throws std::runtime_error, one line, for what is not such a URL.
Url parse_url(const std::string& text);

}  // namespace fsr::wire
