// SPDX-License-Identifier: Apache-2.0
// Bases of pages that fill mappings through FUSE: what the kernel was given, or last wrote back.
//
// The kernel writes back whole pages, also over what write(2), or a process beside the capture, has put into the file since.
// Bytes that differ from the base were stored through a mapping, and only those are written. A store of an equal value is no
// change.
//
// The number of bases is bounded: pages that were given out least recently lose theirs. Pages without a base are written back
// whole, and counted. Thread-safe; calls for one page must not overlap, which the kernel sees to.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace fsr::shim {

class PageBases {
 public:
  explicit PageBases(size_t most_bytes) : most_pages_(most_bytes / kPage / kShards) {}

  struct Run {
    size_t at, length;  // in what is written back
  };

  // `bytes` from `offset` on, that of a page, are about to be given out; zeros follow up to the end of `asked`.
  void given(uint64_t node, uint64_t offset, const char* data, size_t bytes, size_t asked);
  // Which bytes of what is written back were stored, in ascending order.
  std::vector<Run> stored(uint64_t node, uint64_t offset, const char* data, size_t bytes);
  // After the stored bytes were written.
  void written(uint64_t node, uint64_t offset, const char* data, size_t bytes);
  // The kernel zeroes that range in its pages, or drops them. Up to UINT64_MAX: to the end of the file.
  void zeroed(uint64_t node, uint64_t from, uint64_t to);
  void forget(uint64_t node) { zeroed(node, 0, UINT64_MAX); }
  // Pages that were written back whole.
  uint64_t missing() const { return missing_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kPage = 4096;
  static constexpr size_t kShards = 16;

  struct Key {
    uint64_t node, page;
    auto operator<=>(const Key&) const = default;
  };
  struct Base {
    std::unique_ptr<char[]> bytes;  // null: zeros
    std::list<Key>::iterator recent;
  };
  struct Shard {
    std::mutex mutex;
    std::map<Key, Base> bases;
    std::list<Key> recent;  // front: most recently set
  };
  Shard& shard_of(uint64_t node) { return shards_[node % kShards]; }
  void set(Shard& shard, Key key, const char* data, size_t bytes);

  const size_t most_pages_;  // of a shard
  std::array<Shard, kShards> shards_;
  std::atomic<uint64_t> missing_{0};
};

}  // namespace fsr::shim
