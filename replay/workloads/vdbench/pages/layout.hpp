// SPDX-License-Identifier: Apache-2.0
// Versions of vdbench whose columns the consoles, pages and flatfiles may have.
#pragma once

#include <string>

namespace fsr::vdbench {

enum class Layout { v500, v50406, v50407 };  // 5.00 differs from 5.04.06 in the lines of runs on SDs alone

inline Layout layout_of(const std::string& version) {
  return version == "5.00" ? Layout::v500 : version == "5.04.06" ? Layout::v50406 : Layout::v50407;
}

}  // namespace fsr::vdbench
