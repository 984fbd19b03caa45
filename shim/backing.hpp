// SPDX-License-Identifier: Apache-2.0
// Decides, open by open, whether the mappings of a file are the underlying file's own, or go through the FUSE inode's page cache.
//
// From Linux 6.9 an open may be answered with FOPEN_DIRECT_IO and FOPEN_PASSTHROUGH. Reads and writes then arrive as requests,
// and a mapping is one of the underlying file. The mapping agrees with every other access to that file, also outside the capture.
// The kernel sends no request for its page faults and for what is stored through it. A mapping of the FUSE inode is seen, but
// keeps pages that it later writes back over what others have written meanwhile.
//
// All open instances of an inode must be of one kind (the kernel answers EIO otherwise), those with passthrough with one backing
// id. The kernel forgets an inode's kind before it sends the last RELEASE; a new id may be used once the RELEASE has arrived. A
// mapping of the underlying file outlives the RELEASE, and the kernel keeps the inode meanwhile. So the kind `lower` stays as
// long as the inode.
//
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "backing_state.hpp"

namespace fsr::shim {

struct CaptureOptions;
struct Inode;

class Backings {
 public:
  explicit Backings(Mappings mappings) : mappings_(mappings) {}

  // Counts an open of `inode` through the underlying descriptor `fd`. `writes`: the file may be written to, or truncated. Returns
  // the backing id for the answer. 0: mappings go through FUSE.
  int opened(Inode& inode, int fd, bool writes);
  // Uncounts an open that opened() has counted.
  void closed(Inode& inode);
  // True: mappings of this open inode are those of the underlying file.
  bool is_lower(Inode& inode);
  // Returns the errno of the first file whose mappings could not be the underlying file's as requested. 0: there was none.
  int refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  std::mutex& mutex_of(const Inode& inode);

  const Mappings mappings_;
  std::atomic<int> refused_{0};
  std::array<std::mutex, 64> mutexes_;  // by inode; only calls on the connection are made under one
};

// Chooses the mappings of this capture. Throws CaptureError if the requested ones are not possible. `fs_type`: of the directory,
// as in mountinfo. `why`: why mappings are not the underlying files' own; empty: they are.
Mappings choose_mappings(const CaptureOptions& options, const std::string& fs_type, std::string* why);
// Text for the trace's header. `why_no_faults`: why page faults of the underlying files' own mappings are not recorded; empty:
// they are.
std::string mappings_text(Mappings mappings, const std::string& why, const std::string& why_no_faults);
// Depth of the file systems stacked below the capture: 2 for an overlay, above which no further overlay is possible.
uint32_t stack_depth(const std::string& fs_type);
// The reason why files of a file system inside the directory are mapped through the capture although those of the directory are
// not. Empty: they are not.
std::string why_seen_inside(const std::string& fs_type, const std::string& directory_type);

}  // namespace fsr::shim
