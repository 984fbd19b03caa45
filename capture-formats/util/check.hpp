// SPDX-License-Identifier: Apache-2.0
// FSR_CHECK(condition, text): what must hold at this place, also in release builds. Where it does not, a defect of ours has
// spoilt the state that all that follows would be built on: the program prints the place, the condition, the text and the last
// debug lines, and aborts.
//
// `text` is evaluated only then; it converts to std::string and has the figures that matter. Not for what input, servers or the
// system may cause: these are errors, which callers handle.
#pragma once

#include <string>

namespace fsr {

[[noreturn, gnu::cold]] void check_failed(const char* file, int line, const char* condition, const std::string& text);

}  // namespace fsr

#define FSR_CHECK(condition, text)                                                                  \
  do {                                                                                              \
    if (__builtin_expect(!(condition), 0)) fsr::check_failed(__FILE__, __LINE__, #condition, text); \
  } while (false)
