// SPDX-License-Identifier: Apache-2.0
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace fsr {
namespace {

// A number and its unit. `number` is finite and >= 0.
struct Quantity {
  double number = 0;
  uint64_t whole = 0;     // the number, where it is an integer that fits
  bool integral = false;  // `whole` holds it exactly
  std::string_view unit;
};

[[noreturn]] void refuse(std::string_view text, const char* expected) {
  throw std::invalid_argument(fmt::format("'{}': expected {}", escape_text(text), expected));
}

Quantity split(std::string_view text, const char* expected) {
  Quantity q;
  const char* end = text.data() + text.size();
  // from_chars would take "inf", "nan" and a sign.
  if (text.empty() || !((text[0] >= '0' && text[0] <= '9') || text[0] == '.')) refuse(text, expected);
  auto [rest, error] = std::from_chars(text.data(), end, q.number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(q.number)) refuse(text, expected);
  auto [digits, error2] = std::from_chars(text.data(), end, q.whole);
  q.integral = error2 == std::errc() && digits == rest;
  q.unit = std::string_view(rest, size_t(end - rest));
  return q;
}

std::string significant(double value) {  // three digits, no more than two behind the point
  return value >= 100 ? fmt::format("{:.0f}", value) : value >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

// Length of the valid UTF-8 sequence at the front of `s`, 0 if there is none. Overlong forms and surrogates are not valid.
size_t utf8_sequence(std::string_view s, uint32_t* code) {
  auto byte = [&](size_t i) { return uint8_t(s[i]); };
  uint8_t first = byte(0);
  if (first < 0x80) return *code = first, 1;
  size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || s.size() < length) return 0;
  uint32_t value = first & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    value = value << 6 | (byte(i) & 0x3fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return 0;
  *code = value;
  return length;
}

}  // namespace

uint64_t parse_size(std::string_view text) {
  constexpr const char* kExpected = "a size such as 4096, 4k, 1.5G";
  Quantity q = split(text, kExpected);
  std::string_view unit = q.unit;
  unsigned shift = 0;
  if (!unit.empty() && unit[0] != 'B') {
    constexpr std::string_view kPrefixes = "kMGTP", kOther = "KmgtP";
    size_t power = kPrefixes.find(unit[0]);
    if (power == std::string_view::npos) power = kOther.find(unit[0]);
    if (power == std::string_view::npos) refuse(text, kExpected);
    shift = 10 * unsigned(power + 1);
    unit.remove_prefix(1);
    if (unit == "iB") unit = {};
  }
  if (!unit.empty() && unit != "B") refuse(text, kExpected);
  if (q.integral) {
    if (q.whole > std::numeric_limits<uint64_t>::max() >> shift) refuse(text, "a size below 16 EiB");
    return q.whole << shift;
  }
  double bytes = std::ldexp(q.number, int(shift));
  if (bytes >= 0x1p64) refuse(text, "a size below 16 EiB");
  return uint64_t(bytes);
}

int64_t parse_duration(std::string_view text) {
  constexpr const char* kExpected = "a time such as 30s, 250ms, 5m, 1.5h";
  Quantity q = split(text, kExpected);
  double scale = 0;
  struct Unit {
    std::string_view name;
    double ns;
  };
  for (Unit u : {Unit{"", 1e9}, Unit{"ns", 1}, Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9}, Unit{"m", 60e9},
                 Unit{"min", 60e9}, Unit{"h", 3600e9}, Unit{"d", 86400e9}})
    if (q.unit == u.name) scale = u.ns;
  if (scale == 0) refuse(text, kExpected);
  double ns = q.number * scale;
  if (ns >= 0x1p63) refuse(text, "a time below 292 years");
  return int64_t(std::llround(ns));
}

int64_t parse_time_span(std::string_view text) {
  const int64_t span = parse_duration(text);
  if (span <= 0) throw std::invalid_argument("expected a time above 0, such as 30s or 5m");
  return span;
}

double parse_factor(std::string_view text) {
  constexpr const char* kExpected = "a factor above 0 such as 4x or 0.5x";
  Quantity q = split(text, kExpected);
  if (q.number <= 0 || !(q.unit.empty() || q.unit == "x")) refuse(text, kExpected);
  return q.number;
}

double parse_rate(std::string_view text) {
  constexpr const char* kExpected = "a rate above 0 such as 2000, 2000/s, 2k/s";
  Quantity q = split(text, kExpected);
  std::string_view unit = q.unit;
  if (unit.ends_with("/s")) unit.remove_suffix(2);
  double scale = unit.empty() ? 1 : unit == "k" ? 1e3 : unit == "M" ? 1e6 : 0;
  if (scale == 0 || q.number <= 0 || !std::isfinite(q.number * scale)) refuse(text, kExpected);
  return q.number * scale;
}

std::string format_size(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = double(bytes) / 1024;
  unsigned unit = 0;
  while (value >= 1000 && unit < 5) value /= 1024, ++unit;
  return fmt::format("{} {}", fmt::format("{:.{}f}", value, value >= 100 ? 0 : 1), kUnits[unit]);
}

std::string format_duration(int64_t ns) {
  if (ns < 0) return "-" + format_duration(ns == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max() : -ns);
  if (ns < 1000) return fmt::format("{} ns", ns);
  double value = double(ns);
  if (ns < 999'500) return significant(value / 1e3) + " us";
  if (ns < 999'500'000) return significant(value / 1e6) + " ms";
  if (ns < 59'950'000'000) return significant(value / 1e9) + " s";
  int64_t seconds = ns / 1'000'000'000 + (ns % 1'000'000'000 >= 500'000'000 ? 1 : 0);
  if (seconds < 3600) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  int64_t minutes = seconds / 60;
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

std::string format_count(uint64_t n) {
  std::string digits = std::to_string(n);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string escape_text(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    uint32_t code = 0;
    size_t length = utf8_sequence(bytes, &code);
    bool shown = length > 0 && code >= 0x20 && code != '\\' && !(code >= 0x7f && code < 0xa0);
    if (shown)
      out += bytes.substr(0, length);
    else
      for (size_t i = 0; i < std::max<size_t>(length, 1); ++i) out += fmt::format("\\x{:02x}", uint8_t(bytes[i]));
    bytes.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

std::string json_text(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    uint32_t code = 0;
    size_t length = utf8_sequence(bytes, &code);
    // The code points that stand for bytes are themselves encoded byte by byte, so that the way back is unambiguous.
    if (length > 0 && !(code >= 0xf700 && code <= 0xf7ff)) {
      out += bytes.substr(0, length);
    } else {
      length = std::max<size_t>(length, 1);
      for (size_t i = 0; i < length; ++i) {
        uint32_t stand_in = 0xf700u + uint8_t(bytes[i]);
        out += char(0xe0 | stand_in >> 12);
        out += char(0x80 | (stand_in >> 6 & 0x3f));
        out += char(0x80 | (stand_in & 0x3f));
      }
    }
    bytes.remove_prefix(length);
  }
  return out;
}

}  // namespace fsr
