// SPDX-License-Identifier: Apache-2.0
// Where the files of a run are on a device: each has one extent, one behind the other in the order of their first use. The same
// files in the same order always get the same places. Not thread-safe while being built, then read-only.
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
  uint64_t length = 0;  // bytes of the file; its last block is its own
};

constexpr uint64_t kExtentAlign = 4096;  // bytes: a multiple of what any device asks for

class Layout {
 public:
  // On the bytes from `begin` (a multiple of kExtentAlign) to `end`. When they don't suffice: with `wrap`, the extents go on at
  // `begin`, over those of other files; without it std::runtime_error, one line. A file that is larger than all there is never
  // fits.
  Layout(std::span<const FileUse> files, uint64_t begin, uint64_t end, bool wrap);
  Layout() = default;

  const Extent* find(ObjectId object) const;  // null: not one of the files
  std::span<const Extent> extents() const { return extents_; }
  uint64_t bytes() const { return bytes_; }  // of all extents, whole blocks
  uint64_t wraps() const { return wraps_; }  // how often they began anew

 private:
  std::vector<Extent> extents_;
  std::unordered_map<ObjectId, uint32_t> index_;
  uint64_t bytes_ = 0, wraps_ = 0;
};

// A line for each extent, "object,start,bytes", below a heading. Throws std::runtime_error.
void save_layout(const Layout& layout, const std::string& path);

}  // namespace fsr::raw
