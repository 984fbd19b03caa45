// SPDX-License-Identifier: Apache-2.0
// The names of bonnie++'s small files: numbers with random characters after them, or before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "op.hpp"

#include "workloads/bonnie/numbers.hpp"

namespace fsr::bonnie {

struct NamedFile {
  std::string name;
  uint32_t directory;           // a number from 0
  uint32_t number;              // of creation; in a shuffled list no longer its place
  bool made = false;            // and not removed yet
  ObjectId object = kNoObject;  // where it is asked for by more than its name
};

std::vector<NamedFile> make_names(Numbers& numbers, int64_t files, int64_t directories, bool random_first);
void shuffle(Numbers& numbers, std::vector<NamedFile>& names);
// Which of the files that are named in sequence has this name; its number may be too high. -1: not one of these.
int64_t number_in(std::string_view name);

}  // namespace fsr::bonnie
