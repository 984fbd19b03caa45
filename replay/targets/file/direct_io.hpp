// SPDX-License-Identifier: Apache-2.0
// O_DIRECT on files: what it asks for, and how a request that can't give it is done without.
#pragma once

#include <cstdint>

#include "objects.hpp"

namespace fsr {

// Bytes that offsets and lengths must be multiples of, as the file system tells (statx(2), Linux 6.1), else 4096.
uint32_t direct_block(int fd);

// Holds a file for one read or write. Of one that is opened with O_DIRECT on our own account, a request that is not of whole
// blocks takes that off while it is under way and others wait; one that is keeps it, and shares the file.
class DirectGuard {
 public:
  DirectGuard(OpenFile& open, bool whole_blocks);
  ~DirectGuard();
  DirectGuard(const DirectGuard&) = delete;
  DirectGuard& operator=(const DirectGuard&) = delete;

 private:
  OpenFile& open_;
  const bool direct_;
};

}  // namespace fsr
