// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/language/numbered_names.hpp"

#include "workloads/vdbench/language/values.hpp"

namespace fsr::vdbench {

std::vector<uint64_t> counted_numbers(const Statement& s) {
  std::vector<uint64_t> all;
  for (const Parameter& p : s.parameters) {
    if (!same_word(p.keyword, "count")) continue;
    if (p.values.size() != 2) throw ParameterError(p.position, "expected count=(FIRST,HOW MANY)");
    const uint64_t first = whole(p.values[0], 0, 1'000'000), many = whole(p.values[1], 1, 10'000);
    for (uint64_t i = 0; i < many; ++i) all.push_back(first + i);
  }
  return all;
}

std::string numbered(const std::string& mask, uint64_t n) {
  if (const size_t star = mask.find('*'); star != std::string::npos)
    return mask.substr(0, star) + std::to_string(n) + mask.substr(star + 1);
  const size_t percent = mask.find('%');
  const size_t end = percent == std::string::npos ? percent : mask.find_first_not_of("0123456789", percent + 1);
  if (end != std::string::npos && mask[end] == 'd' && end - percent <= 3) {
    const std::string digits = mask.substr(percent + 1, end - percent - 1);
    const std::string number = std::to_string(n);
    const size_t width = digits.empty() ? 0 : size_t(std::stoul(digits));
    const std::string padding(width > number.size() ? width - number.size() : 0, digits.starts_with('0') ? '0' : ' ');
    return mask.substr(0, percent) + padding + number + mask.substr(end + 1);
  }
  return mask + std::to_string(n);
}

}  // namespace fsr::vdbench
