// SPDX-License-Identifier: Apache-2.0
// Names on an overlay that look like hard links of one file and are files of their own. An overlay without an index shows one
// inode number for all links of a file in an underlying layer. Before the first write, it copies the link to a file of its own.
// Links in the upper layer are links of one file; nothing tells them from the others, unless the capture saw them made.
// Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

namespace fsr::shim {

class OverlayLinks {
 public:
  // True if hard links on this device, on which `fd` lies, look like separate files.
  bool apart(int fd, uint64_t dev);
  // Links of the file with that mark were made by the capture.
  void join(uint64_t mark);
  bool joined(uint64_t mark);
  void forget(uint64_t mark);

 private:
  std::mutex mutex_;
  std::vector<std::pair<uint64_t, bool>> devices_;
  std::unordered_set<uint64_t> joined_;
};

}  // namespace fsr::shim
