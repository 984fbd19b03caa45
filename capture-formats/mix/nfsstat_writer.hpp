// SPDX-License-Identifier: Apache-2.0
// A mixfile from operation counts, in the layout of Linux `nfsstat -s -3` (nfs-utils 1.1 to 2.6).
//
// Each operation counts as the NFSv3 procedure that carries it, one to one, without a model of a client's caches; docs/mixfile.md
// has the table. Free of state and threads.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "op.hpp"

namespace fsr {

// The procedures of NFSv3 (RFC 1813), in protocol order.
constexpr unsigned kNfs3Procedures = 22;
extern const std::array<const char*, kNfs3Procedures> kNfs3ProcedureNames;  // as nfsstat prints them

// Number of the procedure that carries `kind`, -1 where NFSv3 has none (open, release, locks, extended attributes, ...).
int nfs3_procedure(OpKind kind);

// The mixfile's text. counts[kind] is the number of operations of that kind; kinds without a procedure leave no mark.
std::string nfsstat_text(const std::array<uint64_t, kOpKinds>& counts);

}  // namespace fsr
