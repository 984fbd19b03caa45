// SPDX-License-Identifier: Apache-2.0
#include "targets/transfer.hpp"

#include <algorithm>

namespace fsr {

Transfer::Transfer(Move move, void* context, uint64_t offset, uint64_t length, uint32_t piece)
    : move_(move),
      context_(context),
      start_(offset),
      next_(offset),
      end_(offset + std::min({length, kLongestTransfer, UINT64_MAX - offset})),
      short_at_(end_),
      piece_(piece) {}

// Ends the transfer at `offset`, because the file ends there or because of an error. If it is called again, the lowest offset
// counts, and at the same offset the error.
void Transfer::stop(uint64_t offset, int why) {
  if (offset > short_at_ || (offset == short_at_ && (error_ || !why))) return;
  short_at_ = offset;
  error_ = why;
}

Task Transfer::work() {
  while (next_ < short_at_) {
    uint64_t offset = next_;
    uint32_t left = uint32_t(std::min<uint64_t>(piece_, short_at_ - next_));
    next_ += left;
    while (left > 0) {
      ChunkResult moved;
      const int error = co_await move_(context_, offset, left, &moved);
      if (error || moved.bytes == 0) {
        stop(offset, error);
        break;
      }
      offset += moved.bytes;
      left -= moved.bytes;
      if (moved.end) {
        stop(offset, 0);
        break;
      }
    }
  }
  co_return error_;
}

Task Transfer::in_lanes() {
  Lanes lanes;
  const unsigned number = unsigned(std::min<uint64_t>(Lanes::kMost, (end_ - start_ + piece_ - 1) / piece_));
  co_await lanes.run(
      number, [](void* transfer) { return static_cast<Transfer*>(transfer)->work(); }, this);
  co_return error_;
}

Task Transfer::empty() {
  ChunkResult moved;
  co_return co_await move_(context_, start_, 0, &moved);
}

Task Transfer::run() {
  if (start_ == end_) return empty();
  return end_ - start_ <= piece_ ? work() : in_lanes();
}

}  // namespace fsr
