// SPDX-License-Identifier: Apache-2.0
// Which capabilities count when a caller does something to a file.
//
// capget(2) tells a thread's effective set under RCU alone (kernel/capability.c): it never blocks. The set holds in the thread's
// own user namespace. In a namespace below this process's, it counts only for files whose owner and group have ids there, as in
// capable_wrt_inode_uidgid() of Linux. It never counts if the kernel asks for rights over the whole system.
#pragma once

#include <linux/capability.h>
#include <sys/types.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

namespace fsr::shim {

struct Caller;

constexpr uint64_t capability(int number) { return uint64_t(1) << number; }
// Returns the effective set of a thread. 0: the thread is gone, or can't be seen from here.
uint64_t effective_capabilities(pid_t tid);

// Capabilities that concern files; others are ignored here.
constexpr uint64_t kFileCapabilities = capability(CAP_CHOWN) | capability(CAP_DAC_OVERRIDE) | capability(CAP_DAC_READ_SEARCH) |
                                       capability(CAP_FOWNER) | capability(CAP_FSETID) | capability(CAP_LINUX_IMMUTABLE) |
                                       capability(CAP_MKNOD) | capability(CAP_SYS_ADMIN) | capability(CAP_SETFCAP) |
                                       capability(CAP_SYS_RESOURCE) | capability(CAP_LEASE);
// With these the superuser is above the modes and owners of files. CAP_DAC_READ_SEARCH adds nothing to CAP_DAC_OVERRIDE there,
// and the others are checked by the kernel before it sends a request.
constexpr uint64_t kRootCapabilities =
    capability(CAP_CHOWN) | capability(CAP_DAC_OVERRIDE) | capability(CAP_FOWNER) | capability(CAP_FSETID);

// The ids that a user namespace has ids for, from a uid_map or gid_map.
class IdRanges {
 public:
  static IdRanges parse(std::string_view map);
  bool contains(uint32_t id) const;
  // True: `id` is the one that the namespace calls 0.
  bool is_root(uint32_t id) const;

 private:
  struct Range {
    uint32_t inside, first, count;
  };
  std::vector<Range> ranges_;
};

struct UserNamespace {
  IdRanges uids, gids;
  bool contains(uid_t uid, gid_t gid) const { return uids.contains(uid) && gids.contains(gid); }
};

// The file or directory that a capability is needed for. A file is given by a descriptor, which may be O_PATH. A directory is one
// in which a name is made, or removed from a file with an owner and group. A directory that gets another parent is written to as
// well.
struct CapabilityTarget {
  enum Role { kFile, kNewName, kOldName, kMovedDirectory };
  CapabilityTarget(int fd_arg, Role role_arg = kFile) : fd(fd_arg), role(role_arg) {}
  CapabilityTarget(int dir, uid_t uid_arg, gid_t gid_arg, Role role_arg = kOldName)
      : fd(dir), role(role_arg), uid(uid_arg), gid(gid_arg) {}
  int fd;
  Role role;
  uid_t uid = 0;
  gid_t gid = 0;
};

struct Capabilities {
  uint64_t effective = 0;
  std::shared_ptr<const UserNamespace> below;  // the namespace where they hold; null: that of this process
  // Returns the capabilities that count for all of the files.
  uint64_t over(std::initializer_list<CapabilityTarget> files) const;
  uint64_t over_system() const { return below ? 0 : effective; }
  bool belong_to_root(uid_t uid) const { return below ? below->uids.is_root(uid) : uid == 0; }
};

// Returns the capabilities of a caller at this moment. The ids of a request may differ from those of its thread. Examples: a
// personality of io_uring, the kernel's NFS server, a file system on top of this one. The capabilities are then unknown: none, or
// for user 0 the thread's bounding set.
Capabilities capabilities_of(const Caller& caller);

}  // namespace fsr::shim
