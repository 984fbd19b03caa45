// SPDX-License-Identifier: Apache-2.0
// A queue that gives items in the order of their starts. Most come in that order already, and cost no comparison with more than
// the last one.
//
// `Item` has `start`, and operator<, by which the earliest is the greatest. One thread.
#pragma once

#include <cstddef>
#include <queue>
#include <utility>
#include <vector>

namespace fsr::shim {

template <class Item>
class StartOrder {
 public:
  size_t size() const { return end_ - begin_ + late_.size(); }
  // An item is late only if a later start has come before it, and leaves before that one.
  bool empty() const { return begin_ == end_; }
  void push(Item item) {
    if (!empty() && at(end_ - 1).start > item.start) return late_.push(std::move(item));
    if (end_ - begin_ == in_order_.size()) grow();
    at(end_++) = std::move(item);
  }
  // Returns the earliest. Not empty.
  const Item& first() const { return late_first() ? late_.top() : at(begin_); }
  Item pop() {
    if (!late_first()) return std::move(at(begin_++));
    Item item = late_.top();
    late_.pop();
    return item;
  }

 private:
  bool late_first() const { return !late_.empty() && at(begin_) < late_.top(); }
  Item& at(size_t number) { return in_order_[number & (in_order_.size() - 1)]; }
  const Item& at(size_t number) const { return in_order_[number & (in_order_.size() - 1)]; }
  void grow() {
    std::vector<Item> larger(in_order_.empty() ? 1024 : 2 * in_order_.size());
    for (size_t i = begin_; i != end_; ++i) larger[i & (larger.size() - 1)] = std::move(at(i));
    in_order_ = std::move(larger);
  }

  std::vector<Item> in_order_;  // a ring; its size is a power of two
  size_t begin_ = 0, end_ = 0;  // numbers of its items, modulo its size their places
  std::priority_queue<Item> late_;
};

}  // namespace fsr::shim
