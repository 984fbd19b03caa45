// SPDX-License-Identifier: Apache-2.0
// Which files a run reads and writes, and how far: for targets that must give each its place beforehand.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/target.hpp"
#include "op_source.hpp"

namespace fsr {

class FileUses {
 public:
  // Adds what the operations that start from `from` until `to` do.
  void add(OpSource& source, int64_t from = INT64_MIN, int64_t to = INT64_MAX);
  const std::vector<FileUse>& in_order_of_use() const { return uses_; }

 private:
  std::vector<FileUse> uses_;
  std::unordered_map<ObjectId, size_t> index_;
};

}  // namespace fsr
