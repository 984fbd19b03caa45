// SPDX-License-Identifier: Apache-2.0
#include "space_limits.hpp"

#include <linux/magic.h>
#include <sys/quota.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "inode_table.hpp"
#include "permission.hpp"

namespace fsr::shim {

namespace {

constexpr int64_t kBelieved = 100'000'000;  // ns for which the answer for a device is reused
constexpr uint64_t kComfortable = 1 << 30;  // bytes free above the reserve; more than can be written within kBelieved

bool near_reserve(int fd) {
  struct statfs fs;
  // The free space of btrfs is an estimate, which does not show reserved blocks.
  if (fstatfs(fd, &fs) != 0 || fs.f_type == BTRFS_SUPER_MAGIC || fs.f_bfree == fs.f_bavail) return false;
  return uint64_t(fs.f_bavail) * uint64_t(fs.f_bsize) < kComfortable;
}

bool has_quotas(int fd) {
  for (int type : {USRQUOTA, GRPQUOTA, 2 /* of projects */}) {
    dqinfo info;
    if (syscall(SYS_quotactl_fd, fd, QCMD(Q_GETINFO, type), 0, &info) == 0) return true;
  }
  return false;
}

bool is_limited(uint64_t device, int fd) {
  struct Known {
    uint64_t device = 0;
    int64_t until = 0;
    bool limited = false;
  };
  thread_local std::array<Known, 8> cache;
  Known& known = cache[device % cache.size()];
  const int64_t now = coarse_now();
  if (known.device != device || now >= known.until) known = {device, now + kBelieved, near_reserve(fd) || has_quotas(fd)};
  return known.limited;
}

}  // namespace

CallerScope::Extent caller_extent(Inode& inode, int fd, CallerScope::Extent needed) {
  if (needed == CallerScope::kOwnership || !may_switch() || !is_local(inode, fd) || !is_limited(inode.key.dev, fd)) return needed;
  return CallerScope::kBeyondLimits;
}

}  // namespace fsr::shim
