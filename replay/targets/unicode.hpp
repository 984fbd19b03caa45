// SPDX-License-Identifier: Apache-2.0
// Names as text, for protocols whose names are that. Unicode normalization by utf8proc.
#pragma once

#include <string>
#include <string_view>

namespace fsr {

// Well formed as in RFC 3629, section 4.
bool is_utf8(std::string_view text);

// The decomposed form that a Mac stores and sends: Unicode's canonical decomposition (NFD) of all but U+2000 to U+2FFF, U+F900 to
// U+FAFF and U+2F800 to U+2FAFF, which stay as they are (Apple, Technical Q&A QA1173 and Technical Note TN1150).
// What is not UTF-8 comes back unchanged.
std::string decomposed(std::string_view text);

// The same text composed (NFC); decomposed(text) leads back there. What is not UTF-8 comes back unchanged.
std::string composed(std::string_view decomposed_text);

}  // namespace fsr
