// SPDX-License-Identifier: Apache-2.0
#include "merger.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <thread>

#include "util/check.hpp"

namespace fsr::shim {

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
constexpr size_t kAskBytes = 256 << 10;  // between two questions whether the sink is full: the rings may hold gigabytes

// The request that holds the watermark, null if it is the clock. unknown_: a producer is between announcing and its clock.
Merger::Source* Merger::holder(int64_t now, int64_t* bound) {
  *bound = now;
  Source* found = nullptr;
  unknown_ = false;
  for (Source& source : sources_) {
    int64_t start = 0;
    Ring::Open open = source.ring->open_since(&start);
    for (int spin = 0; open == Ring::Open::kUnknown && spin < 100; ++spin) {
      std::this_thread::yield();
      open = source.ring->open_since(&start);
    }
    if (open == Ring::Open::kUnknown) unknown_ = true;
    if (open != Ring::Open::kSince || (source.early && start == source.early_start)) continue;
    if (start < *bound) {
      *bound = start;
      found = &source;
    }
  }
  return found;
}

size_t Merger::write_before(int64_t bound) {
  size_t written = 0;
  while (!full_) {
    Source* first = nullptr;
    const Ring::Record* record = nullptr;
    int64_t second = bound;  // how long `first` stays the first
    for (Source& source : sources_) {
      const Ring::Record* front = source.ring->front();
      if (!front || front->op.start >= bound) continue;
      if (!record || front->op.start < record->op.start) {
        if (record) second = std::min(second, record->op.start);
        first = &source;
        record = front;
      } else {
        second = std::min(second, front->op.start);
      }
    }
    if (!first) return written;
    for (; record && record->op.start <= second && record->op.start < bound; record = first->ring->front()) {
      first->ring->read(*record, view_);
      if (first->early && view_.op.start == first->early_start) {
        FSR_CHECK(view_.op.duration >= 0, "an operation that was under way ended before its start");
        first->early = false;
        sink_.add_end(first->early_seq, view_.op);
      } else {
        sink_.add(view_.op);
      }
      not_asked_ += record->bytes;
      first->ring->pop(*record);
      ++written;
      if (not_asked_ < kAskBytes) continue;
      not_asked_ = 0;
      if ((full_ = sink_.full())) break;
    }
  }
  return written;
}

void Merger::write_start(Source& source, int64_t start) {
  source.ring->visit_open(start, [&](const Op& op) {
    source.early_seq = sink_.add_start(op);
    source.early_start = start;
    source.early = true;
  });
}

bool Merger::any_open() const {
  int64_t start;
  auto open = [&](const Source& source) { return source.ring->open_since(&start) != Ring::Open::kNone; };
  return std::any_of(sources_.begin(), sources_.end(), open) || std::any_of(parked_.begin(), parked_.end(), open);
}

// Keeps requests that wait for long, of which there may be thousands, out of the round. Later requests in such a
// ring start after this call, so they do not belong to the round.
void Merger::park() {
  auto waits = [](const Source& source) {
    int64_t start = 0;
    return source.early && source.ring->open_since(&start) == Ring::Open::kSince && start == source.early_start;
  };
  auto move = [](std::deque<Source>& from, std::deque<Source>& to, auto chosen) {
    const auto moved = std::stable_partition(from.begin(), from.end(), [&](const Source& source) { return !chosen(source); });
    to.insert(to.end(), moved, from.end());
    from.erase(moved, from.end());
  };
  move(parked_, sources_, [&](const Source& source) { return !waits(source); });
  move(sources_, parked_, [&](const Source& source) { return waits(source) && !source.ring->front(); });
}

void Merger::unpark_all() {
  sources_.insert(sources_.end(), parked_.begin(), parked_.end());
  parked_.clear();
}

size_t Merger::round(int64_t now) {
  size_t written = 0;
  park();
  for (;;) {
    int64_t bound;
    Source* oldest = holder(now, &bound);
    if (unknown_) return written;
    written += write_before(bound);
    if (full_ || !oldest || (now - bound <= kLate && !pool_.low())) return written;
    write_start(*oldest, bound);
  }
}

size_t Merger::discard() {
  size_t lost = 0;
  unpark_all();
  for (Source& source : sources_)
    while (const Ring::Record* record = source.ring->front()) {
      source.ring->pop(*record);
      ++lost;
    }
  return lost;
}

size_t Merger::finish() {
  size_t written = 0;
  full_ = full_ || sink_.full();
  unpark_all();
  for (;;) {
    int64_t bound;
    Source* oldest = holder(kForever, &bound);
    written += write_before(bound);
    if (full_ || !oldest) return written;
    write_start(*oldest, bound);
  }
}

}  // namespace fsr::shim
