// SPDX-License-Identifier: Apache-2.0
// The size of the machine's pages: 4 KiB, or 16 or 64 KiB on some arm64 and powerpc. Blocks of a file system are seldom larger,
// so that memory which begins at a page can be transferred with O_DIRECT.
#pragma once

#include <unistd.h>

#include <cstddef>

namespace fsr {

inline size_t page_size() {
  static const size_t bytes = size_t(sysconf(_SC_PAGESIZE));
  return bytes;
}

// Returns the bytes of as many whole pages as hold `bytes`.
inline size_t whole_pages(size_t bytes) { return (bytes + page_size() - 1) / page_size() * page_size(); }

}  // namespace fsr
