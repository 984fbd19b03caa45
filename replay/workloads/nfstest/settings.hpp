// SPDX-License-Identifier: Apache-2.0
// The settings of NFSTEST/MPI's words: a letter and its value, without a space, in any order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fsr::nfstest {

struct Settings {
  char unit = 'K';  // of all sizes: b, K or M
  uint64_t least = 1;
  uint64_t most = 0;    // 0: the least
  uint64_t buffer = 0;  // of one transfer; 0: the whole file
  uint64_t step = 0;    // 0: the least
  uint64_t factor = 0;  // in place of the step; 0: none
  uint64_t space = 0;   // for the files of all ranks; 0: no limit
  uint64_t repeat = 1;
  uint64_t files = 0;        // of each rank; 0: as many as there are ranks
  std::string folder = ".";  // a directory or a URL
  std::string output;        // where results go; "": standard output
  bool direct = false;       // write(2) and read(2), not fwrite(3) and fread(3)
  bool verbose = false, check = false;

  uint64_t unit_bytes() const;
  const char* unit_name() const;  // "Kb"
  // Sizes of the files, in units, ascending from the least to the most. The most is the last one, even if the step misses it.
  std::vector<uint64_t> sizes() const;
};

// Takes them one after the other and fills in what depends on others. Throws std::invalid_argument.
Settings parse(const std::vector<std::string>& words, unsigned ranks);

}  // namespace fsr::nfstest
