// SPDX-License-Identifier: Apache-2.0
// The ranges of a device with writes in flight. A write that reads whole blocks, changes a part and writes them back must not
// overlap another write. Otherwise one of the two would be lost. Thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

namespace fsr::raw {

class WriteRanges {
 public:
  // Adds the range of a write. False: it must wait for a write in flight that overlaps.
  bool enter(uint64_t begin, uint64_t end, bool reads_first) {
    std::lock_guard lock(mutex_);
    for (const Range& r : ranges_)
      if (begin < r.end && r.begin < end && (reads_first || r.reads_first)) return false;
    ranges_.push_back({begin, end, reads_first});
    return true;
  }

  void leave(uint64_t begin, uint64_t end, bool reads_first) {
    std::lock_guard lock(mutex_);
    auto found = std::find(ranges_.begin(), ranges_.end(), Range{begin, end, reads_first});
    *found = ranges_.back();
    ranges_.pop_back();
  }

 private:
  struct Range {
    uint64_t begin, end;
    bool reads_first;
    bool operator==(const Range&) const = default;
  };

  std::mutex mutex_;
  std::vector<Range> ranges_;
};

}  // namespace fsr::raw
