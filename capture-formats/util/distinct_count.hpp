// SPDX-License-Identifier: Apache-2.0
// How many different values there were, about: within 2 % in most cases, in 16 KiB.
//
// HyperLogLog (Flajolet, Fusy, Gandouet, Meunier 2007) with 2^14 registers: standard error 0.81 %; up to 40,000 by linear
// counting, which is closer. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fsr {

class DistinctCount {
 public:
  DistinctCount();
  void add(uint64_t a, uint64_t b);  // a pair of numbers, as one value
  uint64_t estimate() const;

 private:
  std::vector<uint8_t> registers_;
};

}  // namespace fsr
