// SPDX-License-Identifier: Apache-2.0
#include "targets/unicode.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

namespace fsr {

namespace {

using CodePoints = std::vector<utf8proc_int32_t>;

bool is_ascii(std::string_view s) {
  return std::all_of(s.begin(), s.end(), [](char c) { return uint8_t(c) < 0x80; });
}

bool decode(std::string_view text, CodePoints* out) {
  const auto* at = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (auto left = utf8proc_ssize_t(text.size()); left > 0;) {
    utf8proc_int32_t code;
    const utf8proc_ssize_t taken = utf8proc_iterate(at, left, &code);
    if (taken <= 0) return false;
    out->push_back(code);
    at += taken;
    left -= taken;
  }
  return true;
}

std::string encode(const CodePoints& points) {
  std::string text;
  for (utf8proc_int32_t code : points) {
    utf8proc_uint8_t bytes[4];
    text.append(reinterpret_cast<const char*>(bytes), size_t(utf8proc_encode_char(code, bytes)));
  }
  return text;
}

utf8proc_propval_t combining_class(utf8proc_int32_t code) { return utf8proc_get_property(code)->combining_class; }

// True: a Mac does not decompose the code point. All decomposable ones of these ranges have the combining class 0.
bool stays(utf8proc_int32_t code) {
  const bool kept = (code >= 0x2000 && code < 0x3000) || (code >= 0xf900 && code < 0xfb00) || (code >= 0x2f800 && code < 0x2fb00);
  return kept && combining_class(code) == 0;
}

// Orders combining marks by the Canonical Ordering Algorithm (The Unicode Standard, section 3.11).
void order_marks(CodePoints& points) {
  auto is_mark = [](utf8proc_int32_t code) { return combining_class(code) != 0; };
  auto before = [](utf8proc_int32_t a, utf8proc_int32_t b) { return combining_class(a) < combining_class(b); };
  for (auto end = points.begin(); end != points.end();) {
    const auto begin = std::find_if(end, points.end(), is_mark);
    end = std::find_if_not(begin, points.end(), is_mark);
    std::stable_sort(begin, end, before);
  }
}

}  // namespace

bool is_utf8(std::string_view text) {
  CodePoints points;
  return is_ascii(text) || decode(text, &points);
}

std::string decomposed(std::string_view text) {
  constexpr utf8proc_ssize_t kLongest = 8;  // a canonical decomposition has at most 4 code points
  CodePoints points, out;
  if (is_ascii(text) || !decode(text, &points)) return std::string(text);
  for (utf8proc_int32_t code : points) {
    utf8proc_int32_t parts[kLongest] = {code};
    const auto options = utf8proc_option_t(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE);
    const utf8proc_ssize_t count = stays(code) ? 1 : utf8proc_decompose_char(code, parts, kLongest, options, nullptr);
    out.insert(out.end(), parts, parts + std::clamp<utf8proc_ssize_t>(count, 1, kLongest));
  }
  order_marks(out);
  return encode(out);
}

std::string composed(std::string_view decomposed_text) {
  CodePoints points;
  if (is_ascii(decomposed_text) || !decode(decomposed_text, &points)) return std::string(decomposed_text);
  const auto options = utf8proc_option_t(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  const utf8proc_ssize_t count = utf8proc_normalize_utf32(points.data(), utf8proc_ssize_t(points.size()), options);
  points.resize(size_t(std::max<utf8proc_ssize_t>(count, 0)));
  return encode(points);
}

}  // namespace fsr
