// SPDX-License-Identifier: Apache-2.0
// The frames that a trace file is made of. All numbers little-endian.
//
//   section  = zstd skippable frame: u32 magic 0x184D2A50 + type number, u32 payload length, payload
//   payload  = "fsrT", u8 type letter, u8 format version, u16 0, u64 XXH64 over the letter, the version and the body; body
//   H header (JSON), B block header, I index, E closing statement
//   block    = section B, then one ordinary zstd frame (content size and checksum present) of the stated length
//
// The letters and the checksum make a section recognisable at any byte offset. Recovery of a damaged file depends on that: it
// searches for the next section. No state; free of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bytes.hpp"
#include "header.hpp"

namespace fsr {

constexpr uint32_t kSkippableMagic = 0x184D2A50;
constexpr size_t kSectionOverhead = 24;                // bytes of a section before its body
constexpr size_t kBlockHeaderBody = 64;                // bytes
constexpr size_t kMaxRecord = 64u << 20;               // bytes of one decompressed block: what a reader must be ready to hold
constexpr size_t kMaxFrame = kMaxRecord + (1u << 20);  // bytes of one compressed block
constexpr uint32_t kMaxClockUnit = 1'000'000'000;      // ns
constexpr size_t kMaxData = 32u << 20;                 // bytes of one operation's data
constexpr size_t kMaxSection = 256u << 20;             // bytes of a header, index or closing statement
constexpr size_t kBlockHeaderSize = kSectionOverhead + kBlockHeaderBody;

enum class SectionType : uint8_t { header = 'H', block = 'B', index = 'I', closing = 'E' };

enum BlockFlag : uint8_t {
  kBlockCheckpoint = 1u << 0,  // the frame holds (a part of) a checkpoint instead of operations
  kBlockEnds = 1u << 1,        // operations: some rows are end records; checkpoint: more parts follow
};

struct BlockHeader {
  uint8_t flags = 0;              // BlockFlag bits
  uint32_t number = 0;            // of the block within the file, 0-based
  uint64_t first_seq = 0;         // number of the first operation (checkpoint: of the next one to come)
  uint32_t ops = 0;               // operations that start here
  uint32_t ends = 0;              // end records
  int64_t first_start = 0;        // clock units
  int64_t last_start = 0;         // clock units, the largest
  uint32_t raw_bytes = 0;         // of the frame's content
  uint32_t compressed_bytes = 0;  // of the zstd frame that follows
  uint32_t clock_unit = 0;        // ns, as in the header, which may be the part that is lost
  bool checkpoint() const { return (flags & kBlockCheckpoint) != 0; }
};

// Appends a whole section to `out`.
void put_section(ByteWriter& out, SectionType type, std::string_view body, uint32_t version = kTraceVersion);
std::string block_header_section(const BlockHeader& header);  // kBlockHeaderSize bytes

struct Section {
  SectionType type;
  uint8_t version;
  std::string_view body;
};
// The section at the start of `bytes`, if there is a whole and undamaged one.
std::optional<Section> parse_section(std::string_view bytes);
// Length of the section whose first kSectionOverhead bytes these look like; 0: not one.
uint64_t section_length(std::string_view first_bytes);
std::optional<BlockHeader> parse_block_header(std::string_view body);

}  // namespace fsr
