// SPDX-License-Identifier: Apache-2.0
// Failed lookups by directory. One thread. Memory grows with the number of directories.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "op.hpp"

namespace fsr::fstrace {

class FailedLookups {
 public:
  struct Directory {
    ObjectId object = kNoObject;
    uint64_t lookups = 0, failed = 0;
    int64_t time = 0;     // ns, of the failed ones
    std::string example;  // the name that was looked for last in vain
  };
  void add(const Op& op);
  // The directories with the most failed lookups, `limit` at most.
  std::vector<Directory> most(size_t limit) const;
  uint64_t failed() const { return failed_; }  // in all directories

 private:
  std::unordered_map<ObjectId, Directory> directories_;
  uint64_t failed_ = 0;
};

}  // namespace fsr::fstrace
