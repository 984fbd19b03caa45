// SPDX-License-Identifier: Apache-2.0
// The target afp://: a volume of an AFP server, accessed by our own client (client.hpp).
//
//   afp://[user@]host[:port]/Volume[/directory]?option=value&...
//     version=        3.0 to 3.4; default: the highest that the server speaks
//     uam=            dhx2, cleartxt or guest; default: dhx2 for a user, guest without one. A password is sent in clear text
//                     only with cleartxt
//     password-file=  the password is its first line; otherwise AFP_PASSWORD, or a prompt
//     timeout=        seconds after which an operation without a reply fails; default 60
#pragma once

#include "base/target.hpp"

namespace fsr {
extern const TargetPlugin afp_plugin;
}
