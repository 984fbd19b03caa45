// SPDX-License-Identifier: Apache-2.0
// Assigns an extent of the device to each file of a run, one behind the other in the order of their first use. The same files in
// the same order always get the same extents. Read-only once it is built, and then thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/target.hpp"

namespace fsr::raw {

struct Extent {
  ObjectId object = kNoObject;
  uint64_t start = 0;   // byte of the device, a multiple of kExtentAlign
  uint64_t length = 0;  // bytes of the file; no other file uses its last block
};

constexpr uint64_t kExtentAlign = 4096;  // bytes; a multiple of the block size of any device

class Layout {
 public:
  // Uses the bytes from `begin` (a multiple of kExtentAlign) to `end`. `wrap`: if they don't suffice, further extents start at
  // `begin` again and overlap others. Throws std::runtime_error, one line: the files don't fit, or with `wrap` the largest one.
  Layout(std::span<const FileUse> files, uint64_t begin, uint64_t end, bool wrap);
  Layout() = default;

  const Extent* find(ObjectId object) const;  // null: the object is not one of the files
  std::span<const Extent> extents() const { return extents_; }
  uint64_t bytes() const { return bytes_; }  // of all extents, in whole blocks
  uint64_t wraps() const { return wraps_; }  // how often the extents started at `begin` again

 private:
  std::vector<Extent> extents_;
  std::unordered_map<ObjectId, uint32_t> index_;
  uint64_t bytes_ = 0, wraps_ = 0;
};

// Writes a heading and a line "object,start,bytes" for each extent to the file `path`. Throws std::runtime_error.
void save_layout(const Layout& layout, const std::string& path);

}  // namespace fsr::raw
