// SPDX-License-Identifier: Apache-2.0
// A sector as data validation writes it. It contains its offset, the time of the write, the number of the write, its writer, and
// a checksum. So a read shows whether a write was lost, torn, misplaced or damaged, and whose write is there.
//
// Octets, little-endian: 0 offset, 8 time (ns since the Unix epoch), 16 key, 24 owner (8 octets, padded with zeros). Then 32
// thread (4), 36 rank (4), 40 name of the RD (its first 16 octets, padded with zeros), 56 pattern, 504 XXH3 of everything before.
// The layout differs from vdbench's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fsr::vdbench {

constexpr uint64_t kSector = 512;
constexpr size_t kOwnerSize = 8, kRunSize = 16;
constexpr uint8_t kMostKey = 126;  // keys count from 1, and restart after this one; 0: not known

constexpr uint8_t next_key(uint8_t key) { return uint8_t(key % kMostKey + 1); }

struct SectorMark {
  uint64_t offset = 0;
  int64_t time = 0;
  uint8_t key = 0;
  std::string owner;  // name of the SD or FSD, at most kOwnerSize
  uint32_t thread = 0, rank = 0;
  std::string run{};  // name of the RD, of which kRunSize octets are kept
};

// Returns "rd=r1 thread=3", with the rank in front of the thread if it is not 0.
std::string writer_text(std::string_view run, uint32_t rank, uint32_t thread);

// Writes `length` bytes of whole sectors. `mark`: of the first sector.
void write_sectors(char* to, uint64_t length, const SectorMark& mark);

enum class SectorState : uint8_t { written, zeros, damaged, foreign };
// Returns the state of a sector by its own content. Fills in `mark` for a written or damaged sector. Damaged: the checksum is
// wrong, and the offset or the owner are as expected. Foreign: data validation has not written it.
SectorState look_at_sector(const char* sector, const SectorMark& expected, SectorMark* mark);

// Shows what is wrong with a sector in lines, each indented: its place, both headers in hexadecimal, and the words that differ
// side by side. All of the sector follows. `expected`: its time is 0 if it is not known. `at`: offset of the sector in its device
// or file.
std::string sector_text(std::string_view found, const SectorMark& expected, uint64_t at);

// Returns a dump in lines of 16 octets, each with its offset from `at` on.
std::string dump_text(std::string_view data, uint64_t at);

// Returns a time, ns since the Unix epoch, as local time: "11/28 09:11:22.004".
std::string wall_text(int64_t wall);

// Says in words what a kind of wrong data, such as "torn write", means.
std::string kind_text(std::string_view kind);

}  // namespace fsr::vdbench
