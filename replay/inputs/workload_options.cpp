// SPDX-License-Identifier: Apache-2.0
#include "inputs/workload_options.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "util/units.hpp"

namespace fsr {

std::vector<double> parse_loads(std::string_view text) {
  constexpr const char* kExpected = "expected max, calls a second such as 2000 or 2k/s, or a ramp such as 100-2000,100";
  constexpr size_t kMostSteps = 1000;
  if (text == "max") return {};
  const size_t dash = text.find('-'), comma = text.find(',');
  if (dash == text.npos && comma == text.npos) return {parse_rate(text)};
  if (dash == 0 || dash == text.npos || comma == text.npos || comma < dash)
    throw std::invalid_argument(fmt::format("'{}': {}", escape_text(text), kExpected));
  const double from = parse_rate(text.substr(0, dash)), to = parse_rate(text.substr(dash + 1, comma - dash - 1)),
               step = parse_rate(text.substr(comma + 1));
  if (to < from) throw std::invalid_argument(fmt::format("'{}': the ramp ends below its beginning", escape_text(text)));
  if ((to - from) / step >= double(kMostSteps))
    throw std::invalid_argument(fmt::format("'{}': a ramp of more than {} steps", escape_text(text), kMostSteps));
  std::vector<double> loads;
  // By number, and with room for rounding: 0.1 is no binary fraction.
  for (size_t i = 0; from + step * double(i) <= to * (1 + 1e-9); ++i) loads.push_back(from + step * double(i));
  return loads;
}

}  // namespace fsr
