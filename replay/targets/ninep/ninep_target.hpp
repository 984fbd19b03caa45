// SPDX-License-Identifier: Apache-2.0
// The targets 9p:// and 9p+unix://: a 9P server, accessed by our own client (client.hpp). Options that Linux' mount -t 9p has as
// well have the same names.
//
//   9p://host[:port]/[aname]?option=value&...
//   9p+unix:///path/of/socket?option=value&...
//     aname=              the tree to attach; default: the URL's path (9p://), empty (9p+unix://)
//     uname=              the user's name; default: the caller's
//     dfltuid=, dfltgid=  user and group of operations that are not performed as their recorded user; default: the caller's
//     dialect=            9p2000.L, 9p2000.u or 9p2000; default: the first of these that the server speaks
//     msize=              bytes of a message, at most; default 131072 as in Linux; 4096 to 1048576
//     timeout=            seconds after which an operation without a reply fails; default 60
#pragma once

#include "base/target.hpp"

namespace fsr {
extern const TargetPlugin ninep_plugin, ninep_unix_plugin;
}
