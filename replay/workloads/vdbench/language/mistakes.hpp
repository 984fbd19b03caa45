// SPDX-License-Identifier: Apache-2.0
// The mistakes of a parameter file, one line each, so that those behind the first are reported, too. One thread.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace fsr::vdbench {

class Mistakes {
 public:
  // Notes the std::runtime_error that `act` throws. False: it threw one.
  template <class Act>
  bool attempt(Act act) {
    try {
      act();
      return true;
    } catch (const std::runtime_error& e) {
      add(e.what());
      return false;
    }
  }
  void add(const std::string& line) {
    if (std::ranges::find(lines_, line) == lines_.end()) lines_.push_back(line);  // rounds of a loop repeat it
  }
  size_t count() const { return lines_.size(); }
  void check() const {  // throws std::runtime_error with all lines, if there are any
    if (!lines_.empty()) throw_error("{}", fmt::join(lines_, "\n"));
  }

 private:
  std::vector<std::string> lines_;
};

}  // namespace fsr::vdbench
