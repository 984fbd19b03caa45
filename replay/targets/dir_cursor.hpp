// SPDX-License-Identifier: Apache-2.0
// Maps recorded readdir cursors to the target's own. Recorded cursors are opaque numbers of the captured file system.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "base/target.hpp"
#include "op.hpp"

namespace fsr {

// Maps recorded cursors of one open directory to those of the target. Not thread-safe.
class DirCursor {
 public:
  // Returns the target's own cursor for a recorded one. 0: the start. A recorded cursor that was not seen before continues where
  // the last readdir of this open instance ended, because readers nearly always do.
  uint64_t locate(uint64_t recorded) {
    if (recorded == 0) return 0;
    if (known_.size() >= kMost) known_.clear();
    return known_.try_emplace(recorded, end_).first->second;
  }
  void ended_at(uint64_t own) { end_ = own; }
  uint64_t end() const { return end_; }

 private:
  static constexpr size_t kMost = 100'000;  // cursors that are kept; a hostile trace could contain any number
  std::unordered_map<uint64_t, uint64_t> known_;
  uint64_t end_ = 0;
};

// True: the entry is fsreplay's own marker in the root of a target. A readdir leaves it out, because it is no part of the
// replayed tree.
inline bool is_own_entry(ObjectId directory, std::string_view name) { return directory == kRootObject && name == kMarkerName; }

// True: the recorded readdir returned entries, whose number readdir_limit() then returns.
inline bool has_recorded_entries(const Op& op) { return op.error == 0 && !op.has(kOpUnfinished) && op.result > 0; }

// Returns how many entries one readdir asks for. If the recorded readdir returned entries, it is their number, so that batches
// are comparable between targets. Otherwise it is estimated from the size of the recorded buffer.
inline size_t readdir_limit(const Op& op) {
  if (has_recorded_entries(op)) return size_t(std::min<uint64_t>(op.result, 1u << 20));
  constexpr uint64_t kTypicalEntry = 40;  // header and a name of 16 bytes
  return size_t(std::clamp<uint64_t>(op.length / kTypicalEntry, 1, 1u << 16));
}

}  // namespace fsr
