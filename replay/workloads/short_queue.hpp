// SPDX-License-Identifier: Apache-2.0
// A first-in, first-out queue of a few small elements. Takes 32 bytes and one block for the elements, where a std::deque takes
// 600 bytes when it is empty. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fsr {

template <class T>
class ShortQueue {
 public:
  size_t size() const { return all_.size() - first_; }
  bool empty() const { return size() == 0; }
  const T& operator[](size_t i) const { return all_[first_ + i]; }
  const T& front() const { return all_[first_]; }
  auto begin() const { return all_.begin() + first_; }
  auto end() const { return all_.end(); }
  void push_back(T one) { all_.push_back(one); }
  void pop_front() {
    // Moves more than a few elements only once in half as many calls, so a call costs about the same for any size.
    constexpr size_t kFew = 16;
    if (++first_ * 2 < all_.size() && all_.size() > kFew) return;
    all_.erase(all_.begin(), all_.begin() + first_);
    first_ = 0;
  }

 private:
  std::vector<T> all_;
  uint32_t first_ = 0;  // elements before it have been removed
};

}  // namespace fsr
