// SPDX-License-Identifier: Apache-2.0
// Queue of what one worker has to issue: ready operations by due time. Uses no clock and no threads.
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
  // Adds an operation that is due as soon as it is ready. It comes before all that have a due time, in order of readiness.
  void add_now(Node& node) {
    node.next = nullptr;
    (last_ ? last_->next : first_) = &node;
    last_ = &node;
  }
  // Puts back an operation for which the target had no room. It is the next one again.
  void put_back(Node& node) {
    node.next = first_;
    first_ = &node;
    if (!last_) last_ = &node;
  }
  // Returns the next operation that is due at `now`. Null: there is none.
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
  // Returns the time from which take() will return an operation. INT64_MIN: at once. kNever: the queue is empty.
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
