// SPDX-License-Identifier: Apache-2.0
#include "workloads/wire_rows.hpp"

#include <algorithm>

#include "mix/procedures.hpp"
#include "workloads/mix_plan.hpp"

namespace fsr {

WireRows::WireRows(const MixPlan& plan, const ProcedureCounts& counts) : plan_(plan) {
  const bool four = std::any_of(counts.begin(), counts.end(), [](const auto& entry) {
    return nfs_procedure_index(3, entry.first) < 0 && nfs_procedure_index(4, entry.first) >= 0;
  });
  if (!counts.empty()) version_ = four ? 4 : 3;
  for (const PlannedProcedure& p : plan.procedures) {
    asks_plus_ |= p.name == "readdirplus" && p.asked > 0;
    asks_read_plus_ |= p.name == "read_plus" && p.asked > 0;
  }
}

bool WireRows::comparable() const { return version_ != 3 || plan_.nfs_version != 4; }

std::string WireRows::of_mix(std::string_view procedure) const {
  return std::string(version_ == 4 && plan_.nfs_version != 4 ? nfs4_instead_of(procedure) : procedure);
}

std::string WireRows::of_request(std::string_view name) const {
  // A client may use READ_PLUS for any read.
  if (name == "read_plus" && !asks_read_plus_) name = "read";
  if (plan_.nfs_version == 4) {
    auto known = std::find_if(plan_.procedures.begin(), plan_.procedures.end(),
                              [&](const PlannedProcedure& p) { return p.name == name && !p.internal; });
    return known == plan_.procedures.end() ? std::string() : std::string(name);
  }
  if (version_ == 4) return nfs4_has_procedure(name) ? std::string(name) : std::string();
  // A client may use READDIRPLUS for any listing.
  return name == "readdirplus" && !asks_plus_ ? "readdir" : std::string(name);
}

}  // namespace fsr
