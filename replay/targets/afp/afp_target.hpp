// SPDX-License-Identifier: Apache-2.0
// A volume of an AFP server as a target, over a client of its own: see client.hpp.
//
//   afp://[user@]host[:port]/Volume[/directory]?option=value&...
//     version=        3.0 to 3.4; default: the highest that the server speaks
//     uam=            dhx2, cleartxt or guest; default: dhx2 for a user, guest without one. A password in clear text goes over
//     the
//                     network only where it is asked for
//     password-file=  the password is its first line; otherwise AFP_PASSWORD, or a prompt
//     timeout=        seconds until a request has failed; default 60
#pragma once

#include "base/target.hpp"

namespace fsr {
extern const TargetPlugin afp_plugin;
}
