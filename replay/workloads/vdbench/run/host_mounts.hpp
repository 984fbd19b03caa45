// SPDX-License-Identifier: Apache-2.0
// Runs the commands of mount= of hosts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workloads/vdbench/language/settings.hpp"

namespace fsr::vdbench {

// Mounts what `own`, the number of this rank's host, asks for; none: what all hosts ask for. Makes the mount point of a
// "mount [OPTIONS] DEVICE DIRECTORY", as 5.04 does. `options`: what mount= of an RD has: all are unmounted first, in reverse, and
// these replace the command's own options, which "reset" keeps. Empty: the commands run as they are. Throws std::runtime_error.
void mount_on_host(const std::vector<Host>& hosts, std::optional<size_t> own, const std::string& options);

}  // namespace fsr::vdbench
