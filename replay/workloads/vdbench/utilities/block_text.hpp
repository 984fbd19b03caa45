// SPDX-License-Identifier: Apache-2.0
// Shows a block of a device or file, with the marks of data validation in it.
#pragma once

#include <cstdint>
#include <string>

namespace fsr::vdbench {

// Returns, for each sector from `lba` on, what data validation wrote there, and a dump. `length`: bytes, a multiple of 512.
// Throws std::runtime_error "FILE: why".
std::string block_text(const std::string& file, uint64_t lba, uint64_t length);

}  // namespace fsr::vdbench
