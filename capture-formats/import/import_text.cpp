// SPDX-License-Identifier: Apache-2.0
#include "import_text.hpp"

#include <algorithm>

namespace fsr {

bool parse_seconds(std::string_view text, int64_t* ns) {
  constexpr int64_t kMost = INT64_MAX / 1'000'000'000 - 1;
  const size_t point = std::min(text.find('.'), text.size());
  int64_t seconds, fraction = 0;
  if (!parse_whole(text.substr(0, point), &seconds) || seconds < 0 || seconds > kMost) return false;
  if (point < text.size()) {
    const std::string_view digits = text.substr(point + 1);
    if (digits.empty() || digits.size() > 9 || !parse_whole(digits, &fraction) || fraction < 0) return false;
    for (size_t i = digits.size(); i < 9; ++i) fraction *= 10;
  }
  *ns = seconds * 1'000'000'000 + fraction;
  return true;
}

static unsigned digit(char c) {
  if (c >= '0' && c <= '9') return unsigned(c - '0');
  if (c >= 'a' && c <= 'f') return unsigned(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return unsigned(c - 'A' + 10);
  return 16;
}

// Digits of one byte from `*at` on.
static char byte_of(std::string_view text, size_t* at, unsigned base, unsigned most) {
  unsigned value = 0;
  for (unsigned n = 0; n < most && *at < text.size() && digit(text[*at]) < base; ++n) value = value * base + digit(text[(*at)++]);
  return char(uint8_t(value));
}

void unescape_c(std::string_view text, std::string* out) {
  out->clear();
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out->push_back(text[i++]);
      continue;
    }
    const char c = text[++i];
    if (c >= '0' && c <= '7') {
      out->push_back(byte_of(text, &i, 8, 3));
      continue;
    }
    ++i;
    constexpr std::string_view kLetters = "abfnrtve", kBytes = "\a\b\f\n\r\t\v\033";
    if (c == 'x')
      out->push_back(byte_of(text, &i, 16, 2));
    else
      out->push_back(kLetters.find(c) == std::string_view::npos ? c : kBytes[kLetters.find(c)]);
  }
}

void split_blanks(std::string_view line, size_t most, std::vector<std::string_view>* out) {
  out->clear();
  constexpr std::string_view kBlank = " \t";
  for (size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos; at = line.find_first_not_of(kBlank, at)) {
    const size_t end = out->size() + 1 == most ? line.size() : std::min(line.find_first_of(kBlank, at), line.size());
    out->push_back(line.substr(at, end - at));
    at = end;
  }
}

void split_at(std::string_view line, char separator, std::vector<std::string_view>* out) {
  out->clear();
  for (;;) {
    const size_t end = std::min(line.find(separator), line.size());
    out->push_back(line.substr(0, end));
    if (end == line.size()) return;
    line.remove_prefix(end + 1);
  }
}

}  // namespace fsr
