// SPDX-License-Identifier: Apache-2.0
// From a URL to a mounted export, in version 3: portmapper, MOUNT, FSINFO. Blocking; throws std::runtime_error with one line that
// says which step failed and what to do.
//
//   nfs://host[:port]/export?option=value&...
//     version=, vers=     3, 4.1 or 4.2; default 3, of nfs4:// 4.1
//     proto=, sec=        tcp and sys, which is what there is
//     nfsport=, mountport= ports; without them (and without :port) the server's portmapper is asked. Version 4 has one port, 2049
//     nolock=             1: without locks. nlmport= is the lock manager's port in version 3, else the portmapper is asked
//     uid=, gid=          whom to act as, where operations are not performed as their recorded user; default: the caller
//     rsize=, wsize=      bytes of one READ and WRITE, at most; default: what the server wants
//     nconnect=           connections, 1 to 16; default 1. In version 3 of each session (one a worker), in version 4 of all
//                         together
//     timeout=            seconds until a request has failed; default 60
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
NfsOptions connect_nfs(const wire::Url& url, const TargetOptions& options);

}  // namespace fsr::nfs
