// SPDX-License-Identifier: Apache-2.0
// Names under which the procedures of a mix and the counted requests appear in one table, also if their versions of NFS differ.
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
  // `plan` must outlive this. `counts`: Target::requests(), which names all procedures of its version. Empty: not known.
  WireRows(const MixPlan& plan, const ProcedureCounts& counts);

  unsigned wire_version() const { return version_; }  // 3 also for version 2; 0: not known
  // False: the mix consists of operations that this version does not have.
  bool comparable() const;
  // Returns the row of a procedure of the mix.
  std::string of_mix(std::string_view procedure) const;
  // Returns the row of a request. Empty: the client sends the request by itself, and mixes do not contain it.
  std::string of_request(std::string_view name) const;

 private:
  const MixPlan& plan_;
  unsigned version_ = 0;
  bool asks_plus_ = false, asks_read_plus_ = false;
};

}  // namespace fsr
