// SPDX-License-Identifier: Apache-2.0
#include "string_table.hpp"

#include <stdexcept>

#include "util/memory.hpp"

namespace fsr {

constexpr size_t kEntryBytes = 96;  // of a string besides its text: both containers' nodes

uint32_t StringTable::number(std::string_view text) {
  const auto known = numbers_.find(text);
  if (known != numbers_.end()) return known->second;
  bytes_ += text.size() + kEntryBytes;
  if (bytes_ > memory_budget() || strings_.size() >= UINT32_MAX)
    throw std::runtime_error("the paths take more than half of the memory; read a part of the trace, or no paths");
  const uint32_t number = uint32_t(strings_.size());
  numbers_.emplace(strings_.emplace_back(text), number);
  return number;
}

}  // namespace fsr
