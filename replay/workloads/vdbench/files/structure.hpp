// SPDX-License-Identifier: Apache-2.0
// The tree of an FSD: its directories and files, their names, sizes and order, as vdbench makes them. Directories are ordered by
// depth, then by number within their parent, then by the position of the parent. Files follow the order of their directories.
// Constant once made.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/vdbench/language/settings.hpp"

namespace fsr::vdbench {

class Structure {
 public:
  static constexpr uint64_t kAnchor = ~uint64_t(0);  // parent of the topmost directories

  // Ignores totalsize= and workingsetsize=. Throws std::runtime_error if there would be too many files.
  explicit Structure(const FileSystem& settings);

  uint64_t directories() const { return bases_.back(); }
  uint64_t files() const { return sizes_.size(); }
  uint64_t bytes() const { return bytes_; }
  std::string text(const std::string& anchor) const;  // numbers and bytes of the directories and files
  unsigned depth() const { return unsigned(bases_.size()) - 1; }
  // Directories of a depth, which counts from 1, have the numbers from level(d) up to level(d + 1).
  uint64_t level(unsigned depth) const { return bases_[depth - 1]; }
  unsigned depth_of(uint64_t directory) const;
  uint64_t parent_of(uint64_t directory) const;  // may be kAnchor
  uint64_t child_of(uint64_t directory, uint64_t n) const;
  uint64_t width() const { return width_; }
  uint64_t directory_of(uint64_t file) const;
  std::string directory_name(uint64_t directory) const;
  std::string file_name(uint64_t file) const;
  std::string file_path(uint64_t file) const;  // path below the anchor
  std::string directory_path(uint64_t directory) const;
  uint64_t size_of(uint64_t file) const { return sizes_[file]; }
  // Returns all files in their order, or the part that totalsize= and workingsetsize= select, which is always the same. Throws
  // std::runtime_error if the files have too few bytes.
  std::vector<uint32_t> chosen_by(const FileSystem& settings) const;

 private:
  std::vector<uint32_t> part(const FileSystem& settings, const std::vector<uint32_t>& of, uint64_t bytes, const char* what) const;
  std::string name(const std::string& mask, uint64_t first, uint64_t second) const;

  const uint64_t width_, in_directory_;
  const bool all_directories_;
  std::string directory_mask_, file_mask_;
  std::vector<uint64_t> bases_;   // by depth, from 1: number of the first directory; the last element is the end
  std::vector<uint64_t> powers_;  // powers of the width
  std::vector<uint64_t> sizes_;
  uint64_t bytes_ = 0;
};

// All files of a tree in one row. Each begins at a multiple of a unit, so that one offset identifies a file and the offset in it.
// Constant once made; 8 bytes per file.
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
