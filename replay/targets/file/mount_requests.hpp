// SPDX-License-Identifier: Apache-2.0
// What the kernel's NFS client has sent for the mount that a directory is on, by procedure: from /proc/self/mountstats, which
// knows each mount, or else /proc/net/rpc/nfs, which counts for all of them. And what is mounted there. Reads and returns; no
// state, no threads.
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

// Whether a file is on a mounted NFS.
bool on_nfs(int fd);

// The nfs:// URL of a directory on a mounted NFS, as this machine's mount reaches it; empty where it is on none.
std::string mount_url(const std::string& directory);
struct MountEntry;
std::string mount_url(const MountEntry& mount, const std::string& directory);

}  // namespace fsr
