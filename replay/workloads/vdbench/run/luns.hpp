// SPDX-License-Identifier: Apache-2.0
// The names of SDs: block devices, files, and files on any target.
#pragma once

#include <string>
#include <utility>

#include "workloads/vdbench/language/settings.hpp"

namespace fsr::vdbench {

// Splits "nfs://host/export/big?port=1" into the target "nfs://host/export?port=1" and the name "big".
std::pair<std::string, std::string> split_lun(const std::string& lun);
bool is_block_device(const std::string& lun);
// Returns the path of a lun on this machine. A path that does not exist: the lun is elsewhere.
std::string local_path(const std::string& lun);
bool is_below_dev(const std::string& lun);
// Refuses a device that does not exist, because a file of this name would be in memory, and a directory that does not exist.
// Changes nothing. Throws std::runtime_error.
void check_lun(const Storage& storage);

}  // namespace fsr::vdbench
