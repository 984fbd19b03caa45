// SPDX-License-Identifier: Apache-2.0
// FSR_CHECK(condition, text) states what must hold, also in release builds. Where it does not, the program has a defect. It then
// prints the place, the condition, the text and the last debug lines, and aborts.
//
// `text` is evaluated only in that case. It converts to std::string and has the figures that matter. Not for what input, servers
// or the system may cause: those are errors, which callers handle.
#pragma once

#include <string>

namespace fsr {

[[noreturn, gnu::cold]] void check_failed(const char* file, int line, const char* condition, const std::string& text);

}  // namespace fsr

#define FSR_CHECK(condition, text)                                                                  \
  do {                                                                                              \
    if (__builtin_expect(!(condition), 0)) fsr::check_failed(__FILE__, __LINE__, #condition, text); \
  } while (false)
