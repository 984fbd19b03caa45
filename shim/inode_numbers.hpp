// SPDX-License-Identifier: Apache-2.0
// Inode numbers as a capture shows them. One FUSE mount has one device number. Files on other devices than the captured
// directory's (file systems mounted inside, btrfs subvolumes) have a number of the device in the upper 16 bits of their inode
// numbers. So no two files look like hard links of one. Thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

namespace fsr::shim {

class InodeNumbers {
 public:
  // `home`: the device of the captured directory.
  explicit InodeNumbers(uint64_t home) : home_(home) {}
  uint64_t shown(uint64_t device, uint64_t ino) {
    if (device == home_) return ino;
    std::lock_guard lock(mutex_);
    const auto at = std::find(others_.begin(), others_.end(), device);
    const uint64_t number = uint64_t(at - others_.begin()) + 1;
    if (at == others_.end()) others_.push_back(device);
    return ino ^ number << 48;
  }

 private:
  const uint64_t home_;
  std::mutex mutex_;
  std::vector<uint64_t> others_;  // in the order of their appearance
};

}  // namespace fsr::shim
