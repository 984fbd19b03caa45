// SPDX-License-Identifier: Apache-2.0
// Suggests a word for a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fsr {

// The word that takes the fewest changes (a letter more, less, other, or two swapped) to come from `typed`; empty where none
// takes as few as a third of its letters.
std::string nearest_word(std::string_view typed, const std::vector<std::string>& words);

}  // namespace fsr
