// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/live_status.hpp"

#include <fmt/format.h>

#include <numeric>

#include "util/units.hpp"

namespace fsr {

uint64_t LiveStatus::left_out_in_all() const { return std::accumulate(left_out.begin(), left_out.end(), uint64_t(0)); }

std::string LiveStatus::left_out_text() const {
  std::string text;
  for (unsigned kind = 0; kind < kOpKinds; ++kind)
    if (left_out[kind])
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", op_name(OpKind(kind)), format_count(left_out[kind]));
  return text;
}

}  // namespace fsr
