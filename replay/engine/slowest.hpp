// SPDX-License-Identifier: Apache-2.0
// Keeps the operations with the longest service times. Not thread-safe: each worker has its own, and they are merged at the end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "op.hpp"

namespace fsr {

struct SlowOperation {
  int64_t service = 0;   // ns from issue to completion
  int64_t recorded = 0;  // ns in the capture; 0: not known
  int64_t issued = 0;    // ns since the start of the run
  uint64_t seq = 0;
  OpKind kind = OpKind::null;
  std::string name;  // the operation's own name, empty if it has none; later its path, if that is found
  ObjectId object = kNoObject, parent = kNoObject;
};

class Slowest {
 public:
  static constexpr size_t kKept = 20;

  void offer(const Op& op, int64_t issued, int64_t service) {
    if (service <= least_) return;
    add({service, op.duration, issued, op.seq, op.kind, std::string(op.name), op.object, op.parent});
  }
  void add(SlowOperation one) {
    // The heap has the fastest of the kept operations on top.
    kept_.push_back(std::move(one));
    std::push_heap(kept_.begin(), kept_.end(), slower);
    if (kept_.size() <= kKept) return;
    std::pop_heap(kept_.begin(), kept_.end(), slower);
    kept_.pop_back();
    least_ = kept_.front().service;
  }
  void merge(const Slowest& other) {
    for (const SlowOperation& one : other.kept_) add(one);
  }
  template <class Change>
  void each(Change change) {
    for (SlowOperation& one : kept_) change(one);
  }
  // Returns the operations, the slowest first.
  std::vector<SlowOperation> list() const {
    std::vector<SlowOperation> sorted = kept_;
    std::sort(sorted.begin(), sorted.end(), slower);
    return sorted;
  }

 private:
  static bool slower(const SlowOperation& a, const SlowOperation& b) {
    return a.service != b.service ? a.service > b.service : a.seq < b.seq;
  }
  std::vector<SlowOperation> kept_;
  int64_t least_ = -1;
};

}  // namespace fsr
