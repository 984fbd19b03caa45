// SPDX-License-Identifier: Apache-2.0
// Results of copies of bonnie++ that ran each test at the same time.
#pragma once

#include <string>
#include <string_view>

#include "workloads/bonnie/phases.hpp"

namespace fsr::bonnie {

struct CopiesResult {
  Results results = {};
  std::string failure;  // the error that ended the tests, one line
  std::string left;     // names of files that could not be removed, one line
  bool interrupted = false;

  // Serialization for another process of the same program. load() throws std::runtime_error for bytes that save() did not make.
  std::string save() const;
  static CopiesResult load(std::string_view saved);
};

// Adds up one test of all copies. The time is that of the slowest copy. It is 0 if a copy did not complete the test.
Measured together(const Measured& a, const Measured& b);

}  // namespace fsr::bonnie
