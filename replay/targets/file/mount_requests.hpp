// SPDX-License-Identifier: Apache-2.0
// What the kernel's NFS client has sent for the mount that a directory is on, by procedure: from /proc/self/mountstats, which
// knows each mount, or else /proc/net/rpc/nfs, which counts for all of them. Reads and returns; no state, no threads.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fsr {

// Empty where the directory is on no NFS, or the kernel does not tell. Names as in nfs_procedures() (mix/procedures.hpp).
std::vector<std::pair<std::string, uint64_t>> mount_requests(const std::string& directory);

// The parts of it, on the text of these files. `directory` is absolute and without symlinks.
std::vector<std::pair<std::string, uint64_t>> requests_of_mountstats(const std::string& text, const std::string& directory);
std::vector<std::pair<std::string, uint64_t>> requests_of_client(const std::string& text);

}  // namespace fsr
