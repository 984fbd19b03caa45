// SPDX-License-Identifier: Apache-2.0
// Helps with O_DIRECT on files: finds the alignment that it requires, and turns it off for requests that lack this alignment.
#pragma once

#include <cstdint>

#include "objects.hpp"

namespace fsr {

constexpr uint64_t kPiece = 8 << 20;  // bytes of one request; a longer read, or write to a device, is several requests

// Returns the bytes that offsets and lengths must be multiples of. A block device: its logical block. A file: 1 on NFS, elsewhere
// what the file system reports (statx(2), Linux 6.1). If it reports nothing: its blocks, at least 4096 and at most a page.
uint32_t direct_block(int fd);

// Turns O_DIRECT of a descriptor on or off. False: it was so already.
bool set_direct(int fd, bool on);

// A lock on a file for one read or write. It has an effect only on files with O_DIRECT. A request of whole blocks keeps O_DIRECT
// and shares the file with others. Any other request turns O_DIRECT off and has the file alone meanwhile.
class DirectGuard {
 public:
  DirectGuard(OpenFile& open, bool whole_blocks);
  ~DirectGuard();
  DirectGuard(const DirectGuard&) = delete;
  DirectGuard& operator=(const DirectGuard&) = delete;
  bool turned_off() const { return turned_off_; }

 private:
  OpenFile& open_;
  const bool direct_;
  bool turned_off_ = false;
};

}  // namespace fsr
