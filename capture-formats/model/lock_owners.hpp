// SPDX-License-Identifier: Apache-2.0
// Tells which owners of byte-range locks are processes. Any other owner is an open instance, whose locks all processes share that
// have it. A process has one owner, which its flushes name. Another owner is an open instance if two processes use it, or if its
// process uses a second one. Other owners count as processes, whose last flush the trace may lack.
//
// Memory: 100 bytes for each process that locks. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "op.hpp"

namespace fsr {

class LockOwners {
 public:
  // Called with all traces, each ended by end_survey(), before the first use of is_process().
  void survey(const Op& op) {
    if (!op.owner) return;
    Trace& trace = traces_.back();
    if (op.kind == OpKind::flush) trace.flushed.insert(op.owner);
    if (!op.who || (op.kind != OpKind::setlk && op.kind != OpKind::getlk)) return;
    const std::pair<uint32_t, int32_t> process(op.who->client, op.who->pid);
    const auto [user, first] = trace.users.try_emplace(op.owner, process);
    if (!first && user->second != process) trace.shared.insert(op.owner);
    const auto [owner, only] = trace.owners.try_emplace(uint64_t(process.first) << 32 | uint32_t(process.second), op.owner);
    if (!only && owner->second != op.owner) trace.shared.insert({owner->second, op.owner});
  }
  void end_survey() { traces_.emplace_back(); }
  bool is_process(uint64_t owner) const {
    return traces_.front().flushed.contains(owner) || !traces_.front().shared.contains(owner);
  }
  // Ends the trace in hand, of which is_process() tells.
  void end_trace() {
    if (traces_.size() > 1) traces_.pop_front();
  }

 private:
  struct Trace {
    std::unordered_set<uint64_t> flushed, shared;
    std::unordered_map<uint64_t, std::pair<uint32_t, int32_t>> users;  // by owner: the process that used it first
    std::unordered_map<uint64_t, uint64_t> owners;                     // by process: the owner that it used first
  };
  std::deque<Trace> traces_{1};  // the one in hand first
};

}  // namespace fsr
