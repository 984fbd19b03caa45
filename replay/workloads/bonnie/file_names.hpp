// SPDX-License-Identifier: Apache-2.0
// Names of bonnie++'s small files: numbers with random characters behind or in front.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "workloads/bonnie/numbers.hpp"

namespace fsr::bonnie {

// A file of the test. Entries are small because each test walks through all files. With 56 bytes each, misses of the processor's
// caches took a quarter of the program's own time.
struct NamedFile {
  const char* text;         // the name, in NameList::text
  uint32_t number;          // order of creation; differs from the position in a shuffled list
  uint32_t directory : 24;  // counts from 0
  uint32_t length : 7;      // bytes of the name
  uint32_t made : 1;        // 1: created and not removed yet
  std::string_view name() const { return {text, length}; }
};

struct NameList {
  std::unique_ptr<char[]> text;
  std::vector<NamedFile> files;
};

NameList make_names(Numbers& numbers, int64_t files, int64_t directories, bool random_first);
void shuffle(Numbers& numbers, std::vector<NamedFile>& names);
// Returns the number at the start of a name of a sequential test. -1: not such a name. The number may be higher
// than that of any file, so the caller checks it.
int64_t number_in(std::string_view name);

}  // namespace fsr::bonnie
