// SPDX-License-Identifier: Apache-2.0
// Collects which files a run reads and writes, and up to which byte. Some targets must assign a position to each file beforehand.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/target.hpp"
#include "op_source.hpp"

namespace fsr {

class FileUses {
 public:
  // Adds the reads and writes that start from `from` until before `to`.
  void add(OpSource& source, int64_t from = INT64_MIN, int64_t to = INT64_MAX);
  const std::vector<FileUse>& in_order_of_use() const { return uses_; }

 private:
  std::vector<FileUse> uses_;
  std::unordered_map<ObjectId, size_t> index_;
};

}  // namespace fsr
