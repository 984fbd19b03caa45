// SPDX-License-Identifier: Apache-2.0
// The operations of a trace that took longest. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/paths.hpp"

namespace fsr::fstrace {

class SlowestOps {
 public:
  static constexpr size_t kMost = 10;
  struct Slow {
    OpKind kind = OpKind::null;
    int32_t error = 0;                // errno, 0: success
    int64_t start = 0, duration = 0;  // ns, as in the trace
    std::string path, command;        // empty: not known
  };
  // Adds an operation. `paths`: the names when it began.
  void add(const Op& op, const Paths& paths);
  const std::vector<Slow>& list() const { return list_; }  // the longest first; of equal ones the first

 private:
  std::vector<Slow> list_;
};

}  // namespace fsr::fstrace
