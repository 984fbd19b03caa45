// SPDX-License-Identifier: Apache-2.0
// An operation that owns what it points to, in storage that is kept from one assignment to the next: no allocation per operation
// once warm. Not thread-safe; not movable, since the operation may point into the object itself.
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

  // `taught`: also attr and who, which a target has no use for.
  void assign(const Op& op, bool taught);
  const Op& op() const { return op_; }
  // Large storage is given back; what stays is small.
  void shrink() {
    if (capacity_ > kKeep) heap_.reset(), capacity_ = 0;
  }
  // Memory taken beyond what every copy keeps.
  size_t extra() const { return capacity_ > kKeep ? capacity_ : 0; }
  static size_t bytes(const Op& op, bool taught);

 private:
  static constexpr size_t kInline = 64, kKeep = 4096;
  Op op_;
  alignas(8) std::array<std::byte, kInline> inline_;
  std::unique_ptr<std::byte[]> heap_;
  size_t capacity_ = 0;
};

}  // namespace fsr
