// SPDX-License-Identifier: Apache-2.0
// Tells which owners of byte-range locks are processes. A process closes each file, so that a flush names it. Any other owner is
// an open instance, whose locks all processes share that have it. Imported traces have no flush, and only processes.
//
// Memory: 32 bytes a process. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_set>

#include "op.hpp"

namespace fsr {

class LockOwners {
 public:
  // Called with all traces, each ended by end_survey(), before the first use of is_process().
  void survey(const Op& op) {
    if (op.kind == OpKind::flush && op.owner) processes_.back().insert(op.owner);
  }
  void end_survey() { processes_.emplace_back(); }
  bool is_process(uint64_t owner) const { return processes_.front().empty() || processes_.front().contains(owner); }
  // Ends the trace in hand, of which is_process() tells.
  void end_trace() {
    if (processes_.size() > 1) processes_.pop_front();
  }

 private:
  std::deque<std::unordered_set<uint64_t>> processes_{1};  // by trace; those of the one in hand first
};

}  // namespace fsr
