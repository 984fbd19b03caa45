// SPDX-License-Identifier: Apache-2.0
// Counts of a run of PostMark, and its reports in the layout of version 1.53, with whole seconds and single precision.
#pragma once

#include <cstdint>
#include <string>

namespace fsr::postmark {

struct Counts {
  int64_t created = 0, created_alone = 0;  // alone: outside of transactions
  int64_t deleted = 0, deleted_alone = 0;
  int64_t read = 0, appended = 0;
  float bytes_read = 0, bytes_written = 0;
  // Durations in s, at least 1 each.
  int64_t seconds = 1, transaction_seconds = 1, create_seconds = 1, delete_seconds = 1;

  void add(const Counts& other);  // adds the counts of a copy that ran at the same time
};

std::string report(const Counts& counts, int64_t transactions, bool verbose);

}  // namespace fsr::postmark
