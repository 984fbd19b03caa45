// SPDX-License-Identifier: Apache-2.0
// Suggests a word for a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fsr {

// Returns the word that needs the fewest changes of `typed` (a letter more, less, different, or two swapped). Empty: every word
// needs more than one change for every three letters of `typed`, and more than one.
std::string nearest_word(std::string_view typed, const std::vector<std::string>& words);

// Returns what a message about an unknown word ends with: "did you mean read? There are open, read, write", or "there are ...".
std::string choices(std::string_view typed, const std::vector<std::string>& words);

}  // namespace fsr
