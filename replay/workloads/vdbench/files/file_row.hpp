// SPDX-License-Identifier: Apache-2.0
// All files of a tree in one row. Each begins at a multiple of a unit, so that one offset identifies a file and the offset in it.
// Constant once made; 8 bytes per file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "workloads/vdbench/files/structure.hpp"

namespace fsr::vdbench {

class FileRow {
 public:
  FileRow(const Structure& structure, uint64_t unit) : begins_(1, 0) {
    begins_.reserve(structure.files() + 1);
    for (uint64_t file = 0; file < structure.files(); ++file)
      begins_.push_back(begins_.back() + (structure.size_of(file) + unit - 1) / unit * unit);
  }

  uint64_t begin_of(uint64_t file) const { return begins_[file]; }
  uint64_t end_of(uint64_t file) const { return begins_[file + 1]; }
  uint64_t size() const { return begins_.back(); }
  // Returns the file that contains the offset, which must be below size().
  uint64_t file_at(uint64_t offset) const {
    return uint64_t(std::upper_bound(begins_.begin(), begins_.end(), offset) - begins_.begin()) - 1;
  }

 private:
  std::vector<uint64_t> begins_;  // beginnings of all files, and the end of the last one
};

}  // namespace fsr::vdbench
