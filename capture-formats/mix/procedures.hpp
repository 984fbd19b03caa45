// SPDX-License-Identifier: Apache-2.0
// The procedures of each NFS version under the names of their RFCs, lower case. Constant tables, free of threads.
#pragma once

#include <span>
#include <string_view>

namespace fsr {

// In protocol order: version 2 (RFC 1094, 0 null .. 17 fsstat; "fsstat" is what everyone calls its STATFS), 3 (RFC 1813, 0 null
// .. 21 commit), 4 (operations 3 access .. 75 removexattr of RFC 7530, 5661, 7862 and 8276; "null" is a procedure there and no
// operation). Empty for other versions.
std::span<const char* const> nfs_procedures(unsigned version);

// Number of an operation in front of nfs_procedures(4).
constexpr unsigned kNfs4FirstOperation = 3;

// Index into nfs_procedures(version), -1 where it has no procedure of that name.
int nfs_procedure_index(unsigned version, std::string_view name);

// The same for the names that the various nfsstat print: "rdirplus", "SetClIdCf", "open_noat", "lookup_root" (of a server: what
// nfs-utils calls LOOKUPP). Case does not matter. Of a version 4 client, whose counters are whole COMPOUNDs, the operation that
// the COMPOUND is about: "server_caps" is getattr.
int nfs_procedure_alias(unsigned version, bool client, std::string_view name);

// What nfs-utils prints for nfs_procedures(4)[operation].
std::string_view nfs4_linux_name(size_t operation);

}  // namespace fsr
