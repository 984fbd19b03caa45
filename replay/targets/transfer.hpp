// SPDX-License-Identifier: Apache-2.0
// A read or write in as many requests as the protocol's limit asks for, several of them under way at once.
#pragma once

#include <coroutine>
#include <cstdint>

#include "base/task.hpp"

namespace fsr {

constexpr uint64_t kLongestTransfer = 0x7ffff000;  // what Linux moves in one system call

// Bytes [next, end) are not yet asked for; [start, short_at) are done once no lane is left.
class Transfer {
 public:
  struct ChunkResult {
    uint32_t bytes = 0;
    bool end = false;  // nothing follows them
  };
  // One request of at most `piece` bytes. Yields the errno.
  using Move = Task (*)(void* context, uint64_t offset, uint32_t size, ChunkResult* moved);

  Transfer(Move move, void* context, uint64_t offset, uint64_t length, uint32_t piece);
  // Yields the errno of what ended it early. An empty transfer is one empty request.
  Task run();
  uint64_t moved() const { return short_at_ - start_; }

 private:
  struct AllLanes;
  void stop(uint64_t offset, int why);
  Task work();
  Detached lane();

  const Move move_;
  void* const context_;
  const uint64_t start_;
  uint64_t next_;
  const uint64_t end_;
  uint64_t short_at_;
  const uint32_t piece_;
  int error_ = 0;
  unsigned lanes_ = 0;
  std::coroutine_handle<> waiter_;
};

}  // namespace fsr
