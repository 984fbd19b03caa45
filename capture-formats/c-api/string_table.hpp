// SPDX-License-Identifier: Apache-2.0
// Strings with numbers, each kept once. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace fsr {

class StringTable {
 public:
  static constexpr uint32_t kEmpty = 0;  // number of the empty string
  StringTable() { number(""); }
  // Returns the number of a string, in the order of first use. Throws std::runtime_error if the strings would take more
  // than memory_budget().
  uint32_t number(std::string_view text);
  // Returns null if no string has the number. Valid as long as the table.
  const std::string* find(uint32_t number) const { return number < strings_.size() ? &strings_[number] : nullptr; }
  const std::string& operator[](uint32_t number) const { return strings_[number]; }

 private:
  std::deque<std::string> strings_;
  std::unordered_map<std::string_view, uint32_t> numbers_;  // of strings_
  size_t bytes_ = 0;
};

}  // namespace fsr
