// SPDX-License-Identifier: Apache-2.0
// The numbers by which the kernel names inodes, also in file handles, which any process may read. So they reveal nothing about
// this process, and no number is used twice.
//
// find() may be called by any thread at any time, and never blocks; the others by one thread at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace fsr::shim {

struct Inode;

class NodeIds {
 public:
  NodeIds() = default;
  ~NodeIds();
  NodeIds(const NodeIds&) = delete;
  NodeIds& operator=(const NodeIds&) = delete;

  uint64_t give(Inode* inode);  // above the two numbers that mean something to FUSE; may throw std::bad_alloc
  void take_back(uint64_t id);
  Inode* find(uint64_t id) const;  // null: no inode has this number, or no longer

 private:
  // A number is the index of its slot, and above that how often the index was taken before. The highest bit stays free: it says
  // that a number is of the inode's stand-in (special_files.hpp).
  struct Slot {
    std::atomic<uint64_t> id{0};
    std::atomic<Inode*> inode{nullptr};
  };
  struct SlotIndex {
    unsigned chunk;
    uint32_t offset;  // in the chunk
  };
  // Each chunk is twice as large as the one before, so that none ever moves.
  static constexpr uint32_t kFirstChunk = 1024;
  static constexpr unsigned kChunks = 22;
  static SlotIndex index_of(uint32_t slot);

  std::array<std::atomic<Slot*>, kChunks> chunks_{};
  uint32_t next_ = 2;           // slots from here on were never taken
  std::vector<uint64_t> free_;  // the numbers that their slots had last
};

}  // namespace fsr::shim
