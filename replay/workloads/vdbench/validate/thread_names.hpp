// SPDX-License-Identifier: Apache-2.0
// Names of the threads that have written or read a storage in all runs, by number. Add names while no thread uses the table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fsr::vdbench {

class ThreadNames {
 public:
  // Returns the number of a new name. 0, the number of no name: the table is full.
  uint16_t add(const std::string& name) {
    if (names_.size() > UINT16_MAX) return 0;
    names_.push_back(name);
    return uint16_t(names_.size() - 1);
  }
  // Adds all names of `other`. Returns their new numbers, by the old ones.
  std::vector<uint16_t> add(const ThreadNames& other) {
    std::vector<uint16_t> numbers = {0};
    for (size_t i = 1; i < other.names_.size(); ++i) numbers.push_back(add(other.names_[i]));
    return numbers;
  }
  const std::string& at(uint16_t number) const { return names_[number]; }

 private:
  std::vector<std::string> names_ = {"an unknown thread"};
};

}  // namespace fsr::vdbench
