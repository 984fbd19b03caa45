// SPDX-License-Identifier: Apache-2.0
#include "nfs/nfs4_segments.hpp"

#include <algorithm>
#include <cstring>

namespace fsr::nfs4 {

std::optional<SegmentsRead> read_of_segments(std::span<const Segment> segments, bool eof, uint64_t offset, uint64_t count) {
  if (count > UINT64_MAX - offset) return std::nullopt;
  const uint64_t end = offset + count;
  uint64_t at = offset;    // end of the requested bytes that are covered
  uint64_t next = offset;  // end of the segment before
  for (const Segment& s : segments) {
    const bool first = &s == segments.data();
    if (s.length > UINT64_MAX - s.offset) return std::nullopt;
    const uint64_t stop = s.offset + s.length;
    if (s.data.empty() && s.length) {
      if (first ? s.offset > offset || stop <= offset : s.offset != next) return std::nullopt;
    } else {
      if (s.offset != next || stop > end) return std::nullopt;
    }
    next = stop;
    at = std::clamp(stop, at, end);
  }
  return SegmentsRead{at - offset, eof && next <= end};
}

void copy_segments(std::span<const Segment> segments, uint64_t offset, uint64_t bytes, char* to) {
  for (const Segment& s : segments) {
    const uint64_t from = std::max(s.offset, offset), until = std::min(s.offset + s.length, offset + bytes);
    if (from >= until) continue;
    if (s.data.empty())
      memset(to + (from - offset), 0, size_t(until - from));
    else
      s.data.copy(to + (from - offset), size_t(until - from), size_t(from - s.offset));
  }
}

}  // namespace fsr::nfs4
