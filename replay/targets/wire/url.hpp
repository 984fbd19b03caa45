// SPDX-License-Identifier: Apache-2.0
// The URL of a network target: scheme://[user@]host[:port]/path[?option=value&...]. An IPv6 address is in brackets. %XX is
// decoded everywhere except in the scheme and the port.
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
  uint16_t port = 0;  // 0: not given
  std::vector<std::pair<std::string, std::string>> options;

  const std::string* option(std::string_view name) const;  // null: not given
  // Returns the option's value, a whole number from `low` to `high`. Not given: `otherwise`. Throws std::runtime_error, one line.
  uint64_t number(std::string_view name, uint64_t low, uint64_t high, uint64_t otherwise) const;
  // Throws std::runtime_error if another option is given, because a misspelt option must not be ignored.
  void allow_options(std::initializer_list<std::string_view> names) const;
};

// Parses a URL. Throws std::runtime_error, one line, if it is malformed.
Url parse_url(const std::string& text);

}  // namespace fsr::wire
