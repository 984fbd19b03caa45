// SPDX-License-Identifier: Apache-2.0
// Mounts the export of a URL in version 3: portmapper, MOUNT, FSINFO. Blocks. Throws std::runtime_error with one line that says
// which step failed and what to do.
//
//   nfs://host[:port]/export?option=value&...
//     version=, vers=     3, 4.1 or 4.2; default 3, of nfs4:// 4.1
//     proto=              tcp, the only one supported
//     sec=, keytab=, principal=   see ../rpc/security.hpp
//     xprtsec= and others of TLS  see ../rpc/tls_settings.hpp; the portmapper is asked in clear text
//     nfsport=, mountport= ports; default: :port, or from the server's portmapper. Version 4 has one port, 2049
//     nolock=             1: without locks. nlmport= is the lock manager's port in version 3; default: from the portmapper
//     uid=, gid=          user and group of operations that are not performed as their recorded user; default: the caller's
//     rsize=, wsize=      bytes of one READ and WRITE, at most; default: as the server prefers
//     nconnect=           connections, 1 to 16; default 1. In version 3 of each session (one a worker), in version 4 of all
//                         together
//     clients=, source=   clients, each with connections of its own, and the addresses of this host that they connect from
//     timeout=            seconds after which a request fails; default 60
//     resvport=           1: connect from ports below 1024, 0: from any; default: below 1024 if this process may
#pragma once

#include "targets/nfs/nfs_state.hpp"
#include "targets/wire/url.hpp"

namespace fsr::nfs {

// Reads the options of the URL that all versions share; the caller sets the others.
NfsOptions common_options(const wire::Url& url, const TargetOptions& options);
wire::LocalPort local_port(const wire::Url& url);
// Returns what to add to the message of a refusal that may be due to the port that the connection came from.
std::string port_advice(wire::LocalPort local);
constexpr uint32_t kMostReserved = 256;  // clients that connect from ports below 1024, of which there are some 350
// What to add to the message of a server that takes fewer clients than asked for.
constexpr char kGaneshaLimits[] =
    "; NFS-Ganesha takes RPC_Max_Connections connections (NFS_CORE_PARAM; 1024 unless set, 10,000 at most), each of "
    "which takes one of its open files (LimitNOFILE=), as each open file does";
NfsOptions connect_nfs(const wire::Url& url, const TargetOptions& options);

}  // namespace fsr::nfs
