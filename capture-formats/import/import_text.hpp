// SPDX-License-Identifier: Apache-2.0
// Numbers, times and fields as the logs of other tools write them. The functions never throw; they return false for text that
// does not fit.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fsr {

template <class Number>
bool parse_whole(std::string_view text, Number* out, int base = 10) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out, base);
  return error == std::errc() && end == text.data() + text.size();
}

// "1700000000.123456": seconds with up to nine digits behind the point, into ns.
bool parse_seconds(std::string_view text, int64_t* ns);

// \n, \", \303, \x41 and the like, into bytes.
void unescape_c(std::string_view text, std::string* out);

// Fields between blanks, at most `most`, the last of which takes the rest.
void split_blanks(std::string_view line, size_t most, std::vector<std::string_view>* out);
void split_at(std::string_view line, char separator, std::vector<std::string_view>* out);  // empty fields count

}  // namespace fsr
