// SPDX-License-Identifier: Apache-2.0
// Reads the wrong blocks that data validation reported in an errorlog.html, after the runs.
#pragma once

#include <optional>
#include <string>

namespace fsr::vdbench {

// Returns the number of blocks of each verdict, and a table of the blocks in the order of their places. `lba`: instead, the whole
// reports on blocks that contain this byte. `input`: an errorlog, or its directory. Throws std::runtime_error "FILE: why".
std::string wrong_blocks_text(std::string input, std::optional<uint64_t> lba);

}  // namespace fsr::vdbench
