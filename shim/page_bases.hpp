// SPDX-License-Identifier: Apache-2.0
// Bases of pages that fill mappings through FUSE. A base is the content that the kernel was given, or that it last wrote back.
//
// The kernel writes back complete pages, and would overwrite data that write(2), or a process outside the capture, has written
// since. Only bytes that differ from the base were stored through a mapping, and only these are written. A store of an equal
// value is not a change.
//
// The number of bases is limited: the pages that were given out least recently lose theirs. Pages without a base are written back
// completely, and counted. Thread-safe; calls for one page must not overlap, which the kernel ensures.
#pragma once

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
  explicit PageBases(size_t most_bytes) : most_pages_(most_bytes / kPage) {}

  struct Run {
    size_t at, length;  // range in the data that is written back
  };

  // Sets the bases of pages that are about to be given out. `offset`: start of the first page. `bytes`: size of the data; zeros
  // follow up to `asked` bytes.
  void given(uint64_t node, uint64_t offset, const char* data, size_t bytes, size_t asked);
  // Returns the bytes of the data that is written back that were stored through a mapping, in ascending order.
  std::vector<Run> stored(uint64_t node, uint64_t offset, const char* data, size_t bytes);
  // Called after the stored bytes were written.
  void written(uint64_t node, uint64_t offset, const char* data, size_t bytes);
  // Called after bytes were written that the kernel has put into its pages, too.
  void changed(uint64_t node, uint64_t offset, const char* data, size_t bytes);
  // Called when the kernel fills a range of its pages with zeros, or drops them. `to`: UINT64_MAX: to the end of the file.
  void zeroed(uint64_t node, uint64_t from, uint64_t to);
  void forget(uint64_t node) { zeroed(node, 0, UINT64_MAX); }
  // Number of pages that were written back completely, because they had no base.
  uint64_t missing() const { return missing_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kPage = 4096;  // divides the pages of all machines

  struct Key {
    uint64_t node, page;
    auto operator<=>(const Key&) const = default;
  };
  struct Base {
    std::unique_ptr<char[]> bytes;  // null: zeros
    std::list<Key>::iterator recent;
  };
  void set(Key key, const char* data, size_t bytes);

  const size_t most_pages_;
  std::mutex mutex_;  // guards the members below
  std::map<Key, Base> bases_;
  std::list<Key> recent_;  // front: most recently set
  std::atomic<uint64_t> missing_{0};
};

}  // namespace fsr::shim
