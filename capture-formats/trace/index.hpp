// SPDX-License-Identifier: Apache-2.0
// The index of a trace file: says where the blocks are. It is written after the last block, or found again by walking the file.
//
//   body = varint count, then per block: varint file offset (distance from the end of the block before), varint bytes (header
//   section and frame), u8 flags, svarint first seq (distance from the seq after the block before), varint ops, varint ends,
//   svarint first start (distance from the block before), varint last start (distance from the first)
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frame.hpp"

namespace fsr {

struct IndexEntry {
  uint64_t offset = 0;  // of the header section in the file
  uint32_t bytes = 0;   // header section and frame
  uint32_t number = 0;
  uint64_t first_seq = 0;
  int64_t first_start = 0, last_start = 0;  // clock units
  uint32_t ops = 0;
  uint32_t ends = 0;
  uint8_t flags = 0;  // BlockFlag bits
  uint16_t file = 0;  // which one of a series; not stored
  bool checkpoint() const { return (flags & kBlockCheckpoint) != 0; }
};

// Converts clock units to ns, as nearly as 64 bits allow.
inline int64_t trace_ns(int64_t units, uint32_t clock_unit) {
  int64_t out;
  return __builtin_mul_overflow(units, int64_t(clock_unit), &out) ? (units < 0 ? INT64_MIN : INT64_MAX) : out;
}

IndexEntry index_entry(const BlockHeader& header, uint64_t offset);
std::string encode_index(const std::vector<IndexEntry>& entries);
// Returns the entries. Empty: the body is no index of a file of this size, or its blocks do not follow each other in order.
std::optional<std::vector<IndexEntry>> decode_index(std::string_view body, uint64_t file_size);

}  // namespace fsr
