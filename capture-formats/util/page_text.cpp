// SPDX-License-Identifier: Apache-2.0
#include "util/page_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "util/units.hpp"

namespace fsr {

std::vector<size_t> character_starts(const std::string& text) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < text.size(); ++i)
    if ((text[i] & 0xc0) != 0x80) starts.push_back(i);
  return starts;
}

std::string plain_text(double n) { return fmt::format("{:.6g}", n); }
std::string duration_text(double ns) {
  std::string text = ns == 0 ? "0 s" : format_duration(int64_t(std::llround(ns)));
  // A mark of an axis is "10 ms" and not "10.0 ms".
  if (const size_t point = text.find('.'), space = text.find(' '); point < space && space != text.npos) {
    const size_t last = text.find_last_not_of('0', space - 1);
    text.erase(last == point ? point : last + 1, space - (last == point ? point : last + 1));
  }
  return text;
}
std::string log_time_text(double ns) {
  constexpr double kLong = 1e11;
  return ns < kLong ? duration_text(ns) : count_text(ns / 1e9) + " s";
}
std::string size_text(double bytes) { return format_size(uint64_t(std::llround(bytes))); }
std::string percent_text(double share) { return fmt::format("{:.1f} %", 100 * share); }
std::string count_text(double n) {
  return n >= 100 || n == std::floor(n) ? format_count(uint64_t(std::llround(n))) : fmt::format("{:.2f}", n);
}

static std::string with_entities(std::string_view escaped) {
  std::string out;
  constexpr std::string_view kSpecial = "<>&\"'", kEntities[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
  for (char c : escaped) {
    const size_t at = kSpecial.find(c);
    if (at == kSpecial.npos)
      out += c;
    else
      out += kEntities[at];
  }
  return out;
}

std::string xml_text(std::string_view bytes) { return with_entities(escape_text(bytes)); }

std::string xml_lines(std::string_view bytes) {
  std::string out;
  for (size_t end; (end = bytes.find('\n')) != bytes.npos; bytes.remove_prefix(end + 1)) {
    out += xml_text(bytes.substr(0, end));
    out += '\n';
  }
  return out + xml_text(bytes);
}

std::string shortened(const std::string& text, size_t most) {
  const std::vector<size_t> starts = character_starts(text);
  if (starts.size() <= most) return text;
  return text.substr(0, starts[most / 2]) + "…" + text.substr(starts[starts.size() - (most - 1) / 2]);
}

std::string xml_shortened(std::string_view bytes, size_t most) { return with_entities(shortened(escape_text(bytes), most)); }

}  // namespace fsr
