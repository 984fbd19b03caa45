// SPDX-License-Identifier: Apache-2.0
// The text that strace writes, line by line and argument by argument (strace(1) of versions 4.x to 6.x, with times). Views into
// the line; nothing here keeps state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "op.hpp"

namespace fsr::strace {

struct Line {
  enum Kind { call, unfinished, resumed, ended, other } kind = other;
  int32_t tid = 0;  // 0: the log does not tell
  // Kind of the time in front: seconds (-ttt: since the Unix epoch, -r: since the line before) or the time of day (-tt, -t).
  enum Stamp { seconds, of_day } stamp = seconds;
  bool padded = false;         // with blanks, to a width
  bool whole_seconds = false;  // without a fraction
  int64_t time = 0;            // ns
  int64_t since_before = -1;   // ns, from -r beside another clock; -1: absent
  std::string_view name;       // of the system call
  std::string_view text;       // call, unfinished: from the name on; resumed: what follows the name
};
bool parse_line(std::string_view line, Line* out);  // false: not a line of strace, or one without a time

struct Call {
  std::string_view name;
  std::vector<std::string_view> args;
  bool returned = false;  // false: it never did, or the kernel restarted it
  int64_t result = 0;
  int error = 0;          // errno
  std::string_view path;  // -y: of the descriptor that it returned
  int64_t duration = -1;  // ns; -1: unknown
};
bool is_call_name(std::string_view name);
bool parse_call(std::string_view text, Call* out);  // "name(args) = result <duration>"

// Functions for parts of arguments. They return false, or what the comment says, if the part is missing or something else.
bool parse_string(std::string_view arg, std::string* out, bool* cut = nullptr);  // "…" with escapes; cut: by strace -s
bool parse_number(std::string_view arg, int64_t* out);  // decimal, 0x, octal; what follows is passed over
uint64_t parse_flags(std::string_view arg);             // O_RDWR|O_CREAT|0x4, names of open, *at, locks, modes and others
bool parse_descriptor(std::string_view arg, int* fd, std::string* path);    // 3</path>; AT_FDCWD is -100; path empty without -y
std::string_view field(std::string_view structure, std::string_view name);  // of {a=1, b="x"}; empty: none
std::vector<std::string_view> list(std::string_view bracketed);             // of [a, b] or {a, b}
void parse_stat(std::string_view structure, Attr* out);                     // struct stat or statx, what of it is there

}  // namespace fsr::strace
