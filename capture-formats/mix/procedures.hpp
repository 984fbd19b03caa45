// SPDX-License-Identifier: Apache-2.0
// The procedures of each NFS version under the names of their RFCs, lower case. Constant tables.
#pragma once

#include <span>
#include <string_view>

namespace fsr {

// Returns the names in protocol order. Empty: another version.
//   version 2: procedures 0 null .. 17 fsstat of RFC 1094, whose STATFS nfsstat calls fsstat
//   version 3: procedures 0 null .. 21 commit of RFC 1813
//   version 4: operations 3 access .. 75 removexattr of RFC 7530, 5661, 7862 and 8276
std::span<const char* const> nfs_procedures(unsigned version);

// Number of an operation in front of nfs_procedures(4).
constexpr unsigned kNfs4FirstOperation = 3;

// Returns an index into nfs_procedures(version). -1: there is no procedure of that name.
int nfs_procedure_index(unsigned version, std::string_view name);

// Index of the procedure with this name in the output of any nfsstat: "rdirplus", "SetClIdCf", "open_noat", "lookup_root" (for a
// server, nfs-utils calls LOOKUPP so). Case does not matter. A version 4 client counts complete COMPOUNDs; the result is then the
// operation that the COMPOUND is about: "server_caps" is getattr.
int nfs_procedure_alias(unsigned version, bool client, std::string_view name);

// Returns what a client of version 4 sends in place of a procedure of version 2 or 3: "open" for "create".
std::string_view nfs4_instead_of(std::string_view procedure);
// True if an NFSv4 client sends this operation in place of a procedure; false for "close" and "sequence".
bool nfs4_has_procedure(std::string_view operation);

// The name that nfs-utils prints for nfs_procedures(4)[operation].
std::string_view nfs4_linux_name(size_t operation);

}  // namespace fsr
