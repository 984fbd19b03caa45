// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <tuple>

namespace fsr::capture {

// One direction of a connection: addresses and ports, sender first, as the input has them.
struct FlowKey {
  std::string from, to;
  bool operator<(const FlowKey& other) const { return std::tie(from, to) < std::tie(other.from, other.to); }
  FlowKey reverse() const { return {to, from}; }
};

}  // namespace fsr::capture
