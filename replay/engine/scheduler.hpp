// SPDX-License-Identifier: Apache-2.0
// What one worker has to issue, and when: ready operations by due time. Knows no clock and no threads.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "engine/window.hpp"

namespace fsr {

class Scheduler {
 public:
  static constexpr int64_t kNever = INT64_MAX;

  void add(Node& node, int64_t due) { queue_.push({due, count_++, &node}); }
  // In order of readiness, before everything with a due time: for operations that are due as soon as they can be.
  void add_now(Node& node) {
    node.next = nullptr;
    (last_ ? last_->next : first_) = &node;
    last_ = &node;
  }
  // Put back what the target had no room for: it is the next again.
  void put_back(Node& node) {
    node.next = first_;
    first_ = &node;
    if (!last_) last_ = &node;
  }
  // The next operation that is due at `now`, or null.
  Node* take(int64_t now) {
    if (first_) {
      Node* node = first_;
      first_ = node->next;
      if (!first_) last_ = nullptr;
      return node;
    }
    if (queue_.empty() || queue_.top().due > now) return nullptr;
    Node* node = queue_.top().node;
    queue_.pop();
    return node;
  }
  // When take() will have something; kNever when it's empty.
  int64_t next_due() const { return first_ ? INT64_MIN : queue_.empty() ? kNever : queue_.top().due; }

 private:
  struct Item {
    int64_t due;
    uint64_t order;
    Node* node;
    bool operator<(const Item& other) const { return due != other.due ? due > other.due : order > other.order; }
  };
  std::priority_queue<Item> queue_;
  uint64_t count_ = 0;
  Node* first_ = nullptr;
  Node* last_ = nullptr;
};

}  // namespace fsr
