// SPDX-License-Identifier: Apache-2.0
// Names of bonnie++'s small files: numbers with random characters behind or in front.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "op.hpp"

#include "workloads/bonnie/numbers.hpp"

namespace fsr::bonnie {

struct NamedFile {
  std::string name;
  uint32_t directory;           // counts from 0
  uint32_t number;              // order of creation; differs from the position in a shuffled list
  bool made = false;            // true: created and not removed yet
  ObjectId object = kNoObject;  // set if the file is used by more than its name
};

std::vector<NamedFile> make_names(Numbers& numbers, int64_t files, int64_t directories, bool random_first);
void shuffle(Numbers& numbers, std::vector<NamedFile>& names);
// Returns the number at the start of a name of a sequential test. -1: not such a name. The number may be higher
// than that of any file, so the caller checks it.
int64_t number_in(std::string_view name);

}  // namespace fsr::bonnie
