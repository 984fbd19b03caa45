// SPDX-License-Identifier: Apache-2.0
// Results of copies of PostMark that ran at the same time.
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
  int64_t elapsed = 0;  // ns, of the slowest copy
  int64_t transactions = 0;
  uint64_t out_of_files = 0;  // number of copies that ended because they ran out of files
  bool stopped = false;
  std::vector<std::string> errors;  // first errors, in the words of the original
  uint64_t error_count = 0;

  void add(const CopiesResult& other);
  void add_errors(const std::vector<std::string>& texts, uint64_t count);

  // Serialization for another process of the same program. load() throws std::runtime_error for bytes that save() did not make.
  std::string save() const;
  static CopiesResult load(std::string_view saved);
};

}  // namespace fsr::postmark
