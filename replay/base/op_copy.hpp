// SPDX-License-Identifier: Apache-2.0
// An operation that owns what it points to. Its memory is kept from one assignment to the next, so that most assignments need no
// allocation. Not thread-safe. Not movable, because the operation may point into this object.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "op.hpp"

namespace fsr {

class OpCopy {
 public:
  OpCopy() = default;
  OpCopy(const OpCopy&) = delete;
  OpCopy& operator=(const OpCopy&) = delete;

  // Copies `op`. `complete`: also attr and who, which targets do not use.
  void assign(const Op& op, bool complete);
  const Op& op() const { return op_; }
  // Frees the memory, except a small amount.
  void shrink() {
    if (capacity_ > kKeep) heap_.reset(), capacity_ = 0;
  }
  // Returns the bytes that shrink() would free.
  size_t extra() const { return capacity_ > kKeep ? capacity_ : 0; }
  static size_t bytes(const Op& op, bool complete);

 private:
  static constexpr size_t kInline = 64, kKeep = 4096;
  Op op_;
  alignas(8) std::array<std::byte, kInline> inline_;
  std::unique_ptr<std::byte[]> heap_;
  size_t capacity_ = 0;
};

}  // namespace fsr
