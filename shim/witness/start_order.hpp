// SPDX-License-Identifier: Apache-2.0
// A queue that gives items in the order of their starts. Most come in that order already, and cost no comparison with more than
// the last one.
//
// `Item` has `start`, and operator<, by which the earliest is the greatest. One thread.
#pragma once

#include <cstddef>
#include <deque>
#include <queue>
#include <utility>

namespace fsr::shim {

template <class Item>
class StartOrder {
 public:
  size_t size() const { return in_order_.size() + late_.size(); }
  bool empty() const { return in_order_.empty() && late_.empty(); }
  void push(Item item) {
    if (in_order_.empty() || in_order_.back().start <= item.start)
      in_order_.push_back(std::move(item));
    else
      late_.push(std::move(item));
  }
  // Returns the earliest. Not empty.
  const Item& first() const { return late_first() ? late_.top() : in_order_.front(); }
  Item pop() {
    Item item = first();
    if (late_first())
      late_.pop();
    else
      in_order_.pop_front();
    return item;
  }

 private:
  bool late_first() const { return !late_.empty() && (in_order_.empty() || in_order_.front() < late_.top()); }

  std::deque<Item> in_order_;
  std::priority_queue<Item> late_;
};

}  // namespace fsr::shim
