// SPDX-License-Identifier: Apache-2.0
// Mounting over a directory, and taking that away again.
//
// Functions throw CaptureError with the line for the user, unless they say otherwise.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trace/header.hpp"
#include "util/mountinfo.hpp"

namespace fsr::shim {

constexpr const char* kMountType = "fuse.fsshim";

// Returns the mounts in the namespace of `process`. Empty: the process has exited.
std::vector<MountEntry> mounts(const std::string& process = "self");
// Returns fsshim's mount of `source` that is visible in the namespace of `process`.
std::optional<MountEntry> mount_of_source(const std::string& source, const std::string& process = "self");
// Identity of a mount that fsshim made, whatever its path is now. The kernel reuses id and device at once when a mount is gone,
// perhaps for the capture of another directory. That one has another source.
struct OwnMount {
  uint64_t id = 0, dev = 0;  // 0, 0: none
  uint64_t source = 0;       // hash of the source
  bool operator==(const OwnMount&) const = default;
};
OwnMount identity_of(const MountEntry& mount);
OwnMount own_mount(const MountEntry& mount);  // for mounts of other types: {}
// Calls `act` in the mount namespace that `mount` belongs to, in a child process, if any process lives there. Returns after some
// seconds at the latest; true: `act` was called and returned true.
bool act_where_mounted(const OwnMount& mount, const std::function<bool()>& act);
// True: in the namespace of `process`, something was mounted inside fsshim's mount of `source`.
bool is_mounted_on(const std::string& source, const std::string& process);
// Returns the mount that is visible at `path`: the last one made there.
std::optional<MountEntry> mount_at(const std::string& path);

std::vector<MountEntry> mounts_inside(const std::string& directory);
// Returns a mount as headers of traces name it: "usb: vfat from /dev/sdb1 on 8:17 (rw)".
std::string mount_text(const MountEntry& mount, const std::string& directory);
// Returns which of MS_NOSUID, MS_NODEV, MS_NOEXEC and MS_RDONLY the mount has.
unsigned long flags_of(const MountEntry& mount);

// Returns the flags that the FUSE mount must have, from the directory's own mount and those inside it. MS_NOSUID and MS_NODEV: if
// any has the flag. MS_RDONLY and MS_NOEXEC: if all have it; otherwise the underlying file system, or the open, refuses.
unsigned long restrictions(int dir_fd, const std::string& directory);

int open_fuse_device();

// Makes standard input /dev/null, and standard output and error the log.
void become_silent(int log_fd);

// Mounts the FUSE connection over the directory behind `dir_fd` (O_PATH), with the restrictions of the file system below.
OwnMount mount_over(int dir_fd, int fuse_fd, const std::string& source, bool kernel_checks);

// Makes mounts in this process's mount namespace invisible outside. `user`: in a new user namespace, as an unprivileged user
// must.
void enter_private_namespace(bool user);

// Adds `flags` (MS_*) to the restrictions of fsshim's mount at `path`.
// False: that was not possible.
bool restrict_mount(const std::string& path, unsigned long flags);

// Leads to whatever will be mounted over a directory, even if directories above it are renamed, or hidden by another mount. It
// is made before the mount.
class MountPathHandle {
 public:
  explicit MountPathHandle(int dir_fd);
  ~MountPathHandle();
  MountPathHandle(const MountPathHandle&) = delete;
  MountPathHandle& operator=(const MountPathHandle&) = delete;
  int above() const { return above_; }  // descriptor of the directory above
  int open_top() const;                 // returns an O_PATH descriptor of the last mount there; -1: errno says why not

 private:
  int above_ = -1;
  std::string name_;
};

// Unmounts fsshim's mount, lazily if it is in use. `way` null: finds it by its present path. Returns the reason why it is still
// mounted; empty: it is gone.
std::string take_away(const OwnMount& mount, const MountPathHandle* way = nullptr);

// A child process that unmounts the mount if this process dies. It is started before any descriptor of the FUSE device exists.
// arm() sends it the identity of the mount.
class Watcher {
 public:
  // `log_fd`: takes the place of its standard descriptors, if not -1.
  Watcher(const MountPathHandle& way, const std::string& path, int log_fd);
  ~Watcher();
  void arm(const OwnMount& mount);

 private:
  int pipe_ = -1;
  pid_t pid_ = -1;
};

// True: the process of the mount has died, and accesses fail with ENOTCONN.
bool is_dead_mount(const std::string& path);
// realpath() that never touches the last component if a capture is mounted there: its process may have died, or not answer.
std::string resolve_captured(std::string path);
// Returns the counters of the mount at `point`. All empty: it is not NFS.
NfsCounters nfs_counters_of(const std::string& point);

}  // namespace fsr::shim
