// SPDX-License-Identifier: Apache-2.0
// A 9P server as a target, over a client of its own: see client.hpp. Options are those of Linux's mount -t 9p where it has them.
//
//   9p://host[:port]/[aname]?option=value&...
//   9p+unix:///path/of/socket?option=value&...
//     aname=              the tree to attach; default: the URL's path (9p://), nothing (9p+unix://)
//     uname=              the user's name; default: the caller's
//     dfltuid=, dfltgid=  whom to act as, where operations are not performed as their recorded user; default: the caller
//     dialect=            9p2000.L, 9p2000.u or 9p2000; default: the first of these that the server speaks
//     msize=              bytes of a message, at most; default 131072 as in Linux; 4096 to 1048576
//     timeout=            seconds until a request has failed; default 60
#pragma once

#include "base/target.hpp"

namespace fsr {
extern const TargetPlugin ninep_plugin, ninep_unix_plugin;
}
