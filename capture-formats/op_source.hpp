// SPDX-License-Identifier: Apache-2.0
// Sources of operations: a trace, a mixfile synthesizer, a workload, an initial image.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "op.hpp"

namespace fsr {

// Bump allocator for what the Ops of a batch point to. Not thread-safe. Memory is kept across clear().
class Arena {
 public:
  std::string_view copy(std::string_view text);
  template <class T>
  T* make(size_t count = 1);  // default-constructed, trivially destructible types only
  void clear();
  void* allocate(size_t bytes, size_t align);
  size_t memory() const;  // bytes taken from the heap

 private:
  struct Chunk {
    std::unique_ptr<std::byte[]> data;
    size_t size = 0;
  };
  std::vector<Chunk> chunks_;
  size_t chunk_ = 0, used_ = 0;
};

// A sequence of operations and the memory that they point into. Both are valid until clear() or the next fill of the same batch,
// even if the source fills others.
struct OpBatch {
  std::vector<Op> ops;
  Arena arena;
  void clear() {
    ops.clear();
    arena.clear();
  }
};

// Operations in start order, lazily: memory does not grow with the length of the input. Used by one thread at a time.
class OpSource {
 public:
  virtual ~OpSource() = default;
  // Replaces `batch` by the next operations. False at the end, with `batch` empty. Throws std::runtime_error on input it can't
  // read at all; the source skips and counts damage that it can skip.
  virtual bool next(OpBatch& batch) = 0;
};

// Copies everything `op` points to into `arena` and returns the op that refers to the copies.
Op copy_op(const Op& op, Arena& arena);

template <class T>
T* Arena::make(size_t count) {
  static_assert(std::is_trivially_destructible_v<T>);
  T* p = static_cast<T*>(allocate(sizeof(T) * count, alignof(T)));
  for (size_t i = 0; i < count; ++i) new (p + i) T();
  return p;
}

}  // namespace fsr
