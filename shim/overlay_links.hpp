// SPDX-License-Identifier: Apache-2.0
// Recognizes names on an overlay that look like hard links of one file, but are separate files. An overlay without an index shows
// one inode number for all links of a file in a lower layer. Before the first write through a link, it copies the file for this
// link alone. Links in the upper layer are true links. They look like the others, so they are known only if the capture saw how
// they were made.
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
  // Notes that links of the file with this mark were made through the capture.
  void join(uint64_t mark);
  bool joined(uint64_t mark);
  void forget(uint64_t mark);

 private:
  std::mutex mutex_;
  std::vector<std::pair<uint64_t, bool>> devices_;
  std::unordered_set<uint64_t> joined_;
};

}  // namespace fsr::shim
