// SPDX-License-Identifier: Apache-2.0
// A queue that gives items in the order of their starts. Most come in that order already, and cost no comparison with more than
// the last one.
//
// `Item` has `start`, and operator<, by which the earliest is the greatest. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <queue>
#include <utility>

namespace fsr::shim {

template <class Item>
class StartOrder {
 public:
  size_t size() const { return end_ - begin_ + late_.size(); }
  // An item is late only if a later start has come before it, and leaves before that one.
  bool empty() const { return begin_ == end_; }
  void push(Item item) {
    if (!empty() && at(end_ - 1).start > item.start) return late_.push(std::move(item));
    if (end_ - begin_ == places_) grow();
    at(end_++) = std::move(item);
  }
  // Returns the earliest, which pop() removes. Not empty.
  const Item& first() const { return late_first() ? late_.top() : at(begin_); }
  void pop() {
    if (late_first())
      late_.pop();
    else
      ++begin_;
  }

 private:
  bool late_first() const { return !late_.empty() && at(begin_) < late_.top(); }
  Item& at(size_t number) const { return in_order_[number & (places_ - 1)]; }
  void grow() {
    const size_t places = places_ ? 2 * places_ : 1024;
    std::unique_ptr<Item[]> larger(new Item[places]);
    for (size_t i = begin_; i != end_; ++i) larger[i & (places - 1)] = std::move(at(i));
    in_order_ = std::move(larger);
    places_ = places;
  }

  std::unique_ptr<Item[]> in_order_;  // a ring
  size_t places_ = 0;                 // number of its places, a power of two
  size_t begin_ = 0, end_ = 0;        // numbers of its items; modulo places_: their places
  std::priority_queue<Item> late_;
};

}  // namespace fsr::shim
