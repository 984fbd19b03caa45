// SPDX-License-Identifier: Apache-2.0
// The results of copies of PostMark that ran at the same time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "measure/tally.hpp"
#include "workloads/postmark/counts.hpp"

namespace fsr::postmark {

struct CopiesResult {
  static constexpr size_t kMostErrors = 100;

  Counts counts;
  Tally tally;
  int64_t elapsed = 0;  // ns, of the slowest
  int64_t transactions = 0;
  uint64_t out_of_files = 0;  // copies that ended for it
  bool stopped = false;
  std::vector<std::string> errors;  // each as the original says it, the first ones
  uint64_t error_count = 0;

  void add(const CopiesResult& other);
  void add_errors(const std::vector<std::string>& texts, uint64_t count);

  // For another process of the same program. load() throws std::runtime_error for bytes that save() did not make.
  std::string save() const;
  static CopiesResult load(std::string_view saved);
};

}  // namespace fsr::postmark
