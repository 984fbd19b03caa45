// SPDX-License-Identifier: Apache-2.0
// Reads how many requests of each procedure the kernel's NFS client has sent for the mount of a directory. The counts are from
// /proc/self/mountstats, which has each mount, or else from /proc/net/rpc/nfs, which has the sum of all mounts. Also finds the
// NFS URL of such a directory. No state, no threads.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fsr {

// Returns the counts with names as in nfs_procedures() (mix/procedures.hpp). Empty: the directory is not on NFS, or the kernel
// does not report counts.
std::vector<std::pair<std::string, uint64_t>> mount_requests(const std::string& directory);

// Read the counts from the text of /proc/self/mountstats and of /proc/net/rpc/nfs. `directory` is absolute and without symlinks.
std::vector<std::pair<std::string, uint64_t>> requests_of_mountstats(const std::string& text, const std::string& directory);
std::vector<std::pair<std::string, uint64_t>> requests_of_client(const std::string& text);

// True: the file is on a mounted NFS.
bool on_nfs(int fd);

// Returns the nfs:// URL of a directory on a mounted NFS, with the server and port of this machine's mount. Empty: the directory
// is not on NFS.
std::string mount_url(const std::string& directory);
struct MountEntry;
std::string mount_url(const MountEntry& mount, const std::string& directory);

}  // namespace fsr
