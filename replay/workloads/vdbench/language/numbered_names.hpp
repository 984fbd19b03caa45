// SPDX-License-Identifier: Apache-2.0
// Names of the definitions that count= makes of one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/vdbench/language/source_text.hpp"

namespace fsr::vdbench {

// Returns the numbers for names that count=(first,how many) defines. Empty: there is no count=. Throws ParameterError.
std::vector<uint64_t> counted_numbers(const Statement& statement);
// Returns name number `n` of a mask: "sd%04d", "sd*", or "sd" followed by a number.
std::string numbered(const std::string& mask, uint64_t n);

}  // namespace fsr::vdbench
