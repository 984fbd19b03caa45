// SPDX-License-Identifier: Apache-2.0
// The data and holes that a READ_PLUS returns (RFC 7862, 15.10).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace fsr::nfs4 {

struct Segment {
  uint64_t offset = 0, length = 0;  // bytes of the file
  std::string_view data;            // `length` bytes, in the message; empty: a hole
};

struct SegmentsRead {
  uint64_t bytes = 0;  // bytes from the requested offset on
  bool end = false;    // the file ends after them
};

// Compares the segments with the request for `count` bytes at `offset`. Holes may begin before these bytes and end after them.
// None: malformed, that is not contiguous, or data that was not requested.
std::optional<SegmentsRead> read_of_segments(std::span<const Segment> segments, bool eof, uint64_t offset, uint64_t count);

// Copies the first `bytes` bytes at `offset`, for which read_of_segments() found them, to `to`. Holes become zeros.
void copy_segments(std::span<const Segment> segments, uint64_t offset, uint64_t bytes, char* to);

}  // namespace fsr::nfs4
