// SPDX-License-Identifier: Apache-2.0
// The tree of an FSD: its directories and files, their names, sizes and order, as vdbench makes them. Directories are ordered by
// depth, then by number within their parent, then by the position of the parent. Files follow the order of their directories.
// Constant once made.
#pragma once

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

}  // namespace fsr::vdbench
