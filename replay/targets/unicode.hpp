// SPDX-License-Identifier: Apache-2.0
// Checks and normalizes names, for protocols whose names are Unicode text. Uses utf8proc.
#pragma once

#include <string>
#include <string_view>

namespace fsr {

// True: `text` is well-formed UTF-8 as defined by RFC 3629, section 4.
bool is_utf8(std::string_view text);

// Returns the decomposed form that a Mac stores and sends. It is Unicode's canonical decomposition (NFD) with three exceptions:
// U+2000 to U+2FFF, U+F900 to U+FAFF and U+2F800 to U+2FAFF are not decomposed. (See Apple, Technical Q&A QA1173 and Technical
// Note TN1150.) Text that is not UTF-8 is returned unchanged.
std::string decomposed(std::string_view text);

// Returns the composed form (NFC) of `decomposed_text`; decomposed() reverses it. Text that is not UTF-8 is returned unchanged.
std::string composed(std::string_view decomposed_text);

}  // namespace fsr
