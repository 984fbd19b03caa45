// SPDX-License-Identifier: Apache-2.0
// Shows what is wrong with a sector: its place, both headers in hexadecimal, the words that differ side by side, and all of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "workloads/vdbench/validate/sector.hpp"

namespace fsr::vdbench {

// Returns lines, each indented. `expected`: its time is 0 if it is not known. `at`: offset of the sector in its device or file.
std::string sector_text(std::string_view found, const SectorMark& expected, uint64_t at);

// Returns a dump in lines of 16 octets, each with its offset from `at` on.
std::string dump_text(std::string_view data, uint64_t at);

// Returns a time, ns since the Unix epoch, as local time: "11/28 09:11:22.004".
std::string wall_text(int64_t wall);

// Says in words what a kind of wrong data, such as "torn write", means.
std::string kind_text(std::string_view kind);

}  // namespace fsr::vdbench
