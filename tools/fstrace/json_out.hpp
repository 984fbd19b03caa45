// SPDX-License-Identifier: Apache-2.0
// Appends JSON to a buffer, member by member: a dump writes millions of objects, and a document tree for each costs microseconds.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "util/units.hpp"

namespace fsr::fstrace {

class JsonOut {
 public:
  explicit JsonOut(fmt::memory_buffer& out) : out_(out) {}

  void open(char bracket) {
    separate();
    out_.push_back(bracket);
    first_ = true;
  }
  void close(char bracket) {
    out_.push_back(bracket);
    first_ = false;
  }
  void key(std::string_view name) {
    separate();
    fmt::format_to(std::back_inserter(out_), "\"{}\":", name);
    first_ = true;
  }
  template <class Number>
  void number(Number v) {
    separate();
    fmt::format_to(std::back_inserter(out_), "{}", v);
  }
  // Bytes, as docs/trace-format.md describes: what is not UTF-8 becomes U+F700 + byte.
  void text(std::string_view bytes) { utf8(json_text(bytes)); }
  // Appends text that is valid UTF-8 already.
  void utf8(std::string_view valid) {
    separate();
    out_.push_back('"');
    for (char c : valid) {
      if (c == '"' || c == '\\') out_.push_back('\\');
      if (uint8_t(c) < 0x20)
        fmt::format_to(std::back_inserter(out_), "\\u{:04x}", uint8_t(c));
      else
        out_.push_back(c);
    }
    out_.push_back('"');
  }
  void boolean(bool v) {
    separate();
    fmt::format_to(std::back_inserter(out_), "{}", v);
  }
  template <class Number>
  void member(std::string_view name, Number v) {
    key(name);
    number(v);
  }
  void member_text(std::string_view name, std::string_view v) {
    key(name);
    text(v);
  }

 private:
  void separate() {
    if (!first_) out_.push_back(',');
    first_ = false;
  }
  fmt::memory_buffer& out_;
  bool first_ = true;
};

}  // namespace fsr::fstrace
