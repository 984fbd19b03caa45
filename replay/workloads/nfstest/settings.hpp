// SPDX-License-Identifier: Apache-2.0
// Settings of NFSTEST/MPI's words, each a letter and its value without a space, in any order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fsr::nfstest {

struct Settings {
  char unit = 'K';  // unit of all sizes: b, K or M
  uint64_t least = 1;
  uint64_t most = 0;    // 0: as `least`
  uint64_t buffer = 0;  // size of one transfer; 0: the whole file
  uint64_t step = 0;    // 0: as `least`
  uint64_t factor = 0;  // used instead of the step; 0: none
  uint64_t space = 0;   // limit for the files of all ranks; 0: none
  uint64_t repeat = 1;
  uint64_t files = 0;        // of each rank; 0: the number of ranks
  std::string folder = ".";  // a directory or a URL
  std::string output;        // file for the results; empty: standard output
  bool direct = false;       // uses write(2) and read(2) instead of fwrite(3) and fread(3)
  bool verbose = false, check = false;

  uint64_t unit_bytes() const;
  const char* unit_name() const;               // "Kb"
  uint64_t buffer_bytes(uint64_t size) const;  // size of the buffer for files of `size` units
  // Returns the sizes of the files, in units, ascending from `least` to `most`. The last one is `most`, even if it is no multiple
  // of the step.
  std::vector<uint64_t> sizes() const;
};

// Parses the words in their order, and fills in settings that depend on others. Throws std::invalid_argument.
Settings parse(const std::vector<std::string>& words, unsigned ranks);

}  // namespace fsr::nfstest
