// SPDX-License-Identifier: Apache-2.0
// Under which name a procedure of a mix and a request that was counted stand in one table, whatever versions both are of.
// Immutable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fsr {

struct MixPlan;

using ProcedureCounts = std::vector<std::pair<std::string, uint64_t>>;

class WireRows {
 public:
  // `plan` must outlive it. `counts`: Target::requests(), which names everything that its version has; empty: unknown.
  WireRows(const MixPlan& plan, const ProcedureCounts& counts);

  unsigned wire_version() const { return version_; }  // 3 also stands for 2; 0: unknown
  // False: the mix consists of operations that this wire does not have.
  bool comparable() const;
  std::string of_mix(std::string_view procedure) const;
  // Empty: the request is the client's own, and no part of such a mix.
  std::string of_request(std::string_view name) const;

 private:
  const MixPlan& plan_;
  unsigned version_ = 0;
  bool asks_plus_ = false;
};

}  // namespace fsr
