// SPDX-License-Identifier: Apache-2.0
// What copies of bonnie++ came to that did each test at the same time.
#pragma once

#include <string>
#include <string_view>

#include "workloads/bonnie/phases.hpp"

namespace fsr::bonnie {

struct CopiesResult {
  Results results = {};
  std::string failure;  // what ended the tests, one line
  std::string left;     // what could not be removed, one line
  bool interrupted = false;

  // For another process of the same program. load() throws std::runtime_error for bytes that save() did not make.
  std::string save() const;
  static CopiesResult load(std::string_view saved);
};

// Of a test by all: as long as the slowest took; none where some copy did not run it to its end.
Measured together(const Measured& a, const Measured& b);

}  // namespace fsr::bonnie
