// SPDX-License-Identifier: Apache-2.0
// Finds the compratio= and dedupratio= that files or devices have. Both throw std::runtime_error "FILE: why".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fsr::vdbench {

// Compresses `percent` of all pieces of 128 KiB, and returns the ratio of each file and of all as lines.
std::string compression_text(const std::vector<std::string>& files, double percent);
// Compares all units of `unit` bytes by their hashes, and returns the ratio of all units to different ones as lines. The last
// unit of a file may be shorter. Takes about 32 bytes of memory for each different unit.
std::string dedup_text(const std::vector<std::string>& files, uint64_t unit);

}  // namespace fsr::vdbench
