// SPDX-License-Identifier: Apache-2.0
// Splits a read or write into requests within the protocol's size limit, several of them in flight at once.
#pragma once

#include <cstdint>

#include "base/task.hpp"
#include "targets/lanes.hpp"

namespace fsr {

constexpr uint64_t kLongestTransfer = 0x7ffff000;  // bytes, the limit of Linux for one system call

// One read or write. Bytes [next, end) are not requested yet; [start, short_at) are transferred when all lanes have ended.
class Transfer {
 public:
  struct ChunkResult {
    uint32_t bytes = 0;
    bool end = false;  // the file ends after these bytes
  };
  // Makes one request of at most `piece` bytes. co_await returns its errno.
  using Move = Task (*)(void* context, uint64_t offset, uint32_t size, ChunkResult* moved);

  Transfer(Move move, void* context, uint64_t offset, uint64_t length, uint32_t piece);
  // Performs the transfer. co_await returns the errno that ended it early, or 0. An empty transfer makes one empty request.
  Task run();
  uint64_t moved() const { return short_at_ - start_; }

 private:
  void stop(uint64_t offset, int why);
  Task work();
  Task in_lanes();
  Task empty();

  const Move move_;
  void* const context_;
  const uint64_t start_;
  uint64_t next_;
  const uint64_t end_;
  uint64_t short_at_;
  const uint32_t piece_;
  int error_ = 0;
};

}  // namespace fsr
