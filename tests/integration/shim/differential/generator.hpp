// SPDX-License-Identifier: Apache-2.0
// Random sequences of calls. The same seed and the same areas left out give the same sequence.
#pragma once

#include <set>
#include <string>

#include "actor.hpp"

namespace differential {

using Areas = std::set<std::string>;

// The area of the roles whose rights are not those of a plain user or of root.
constexpr const char* kCapabilities = "capabilities";

Areas all_areas();
void generate(uint64_t seed, uint32_t count, const Areas& without, Sequence* sequence);

}  // namespace differential
