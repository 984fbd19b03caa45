// SPDX-License-Identifier: Apache-2.0
// A sector as data validation writes it: it contains its place, the time of the write, the number of the write, and a checksum.
// So a read shows what happened to a write: lost, torn, misplaced, damaged.
//
// Octets, little-endian: 0 offset, 8 time (ns since the Unix epoch), 16 key, 24 owner (8 octets, zeros behind), 32 pattern, 504
// XXH3 of all before. A layout of our own; vdbench's has the same facts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fsr::vdbench {

constexpr uint64_t kSector = 512;
constexpr size_t kOwnerSize = 8;
constexpr uint8_t kMostKey = 126;  // keys count from 1 and begin anew after it; 0: nothing is known

constexpr uint8_t next_key(uint8_t key) { return uint8_t(key % kMostKey + 1); }

struct SectorMark {
  uint64_t offset = 0;
  int64_t time = 0;
  uint8_t key = 0;
  std::string owner;  // the SD or FSD, at most kOwnerSize
};

// `length` bytes of whole sectors, the first of which is `mark`.
void write_sectors(char* to, uint64_t length, const SectorMark& mark);

enum class SectorState : uint8_t { written, zeros, damaged, foreign };
// Returns the state of a sector by its own content; `mark` is filled in for a written or damaged one. Damaged: the checksum is
// wrong, and the place or the owner are the expected ones. Foreign: it was not written by us.
SectorState look_at_sector(const char* sector, const SectorMark& expected, SectorMark* mark);

}  // namespace fsr::vdbench
