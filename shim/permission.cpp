// SPDX-License-Identifier: Apache-2.0
#include "permission.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>

#include "credentials.hpp"
#include "inode_table.hpp"

namespace fsr::shim {

namespace {

bool local_type(int fd) {
  // Not in linux/magic.h of every version.
  constexpr decltype(statfs::f_type) kZfs = 0x2fc12fc1, kBcachefs = 0xca451a4e;
  struct statfs fs;
  if (fstatfs(fd, &fs) != 0) return false;
  switch (fs.f_type) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
    case F2FS_SUPER_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
    case kZfs:
    case kBcachefs:
      return true;
    default:
      return false;
  }
}

// True for a directory that ignores case. A file has many names there. A change under one of them leaves the kernel's entries of
// the others as they were, as if another machine had made it.
bool ignores_case(int fd) {
  int dir = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return false;
  int flags = 0;
  bool found = ioctl(dir, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_CASEFOLD_FL) != 0;
  close(dir);
  return found;
}

}  // namespace

bool is_local(Inode& inode, int fd) {
  std::atomic<SearchState::Lower>& known = inode.search.lower;
  SearchState::Lower lower = known.load(std::memory_order_relaxed);
  if (lower == SearchState::kUnknown) {
    bool local = local_type(fd) && !(S_ISDIR(inode.type) && ignores_case(fd));
    lower = local ? SearchState::kLocal : SearchState::kForeign;
    known.store(lower, std::memory_order_relaxed);
  }
  return lower == SearchState::kLocal;
}

bool has_access_acl(int fd) {
  if (getxattr(FdPath(fd).text, "system.posix_acl_access", nullptr, 0) >= 0) return true;
  return errno != ENODATA && errno != EOPNOTSUPP;
}

bool plainly_owned(const Caller& caller, const struct stat& s, int want) {
  return s.st_uid == caller.uid && (int(s.st_mode >> 6) & want) == want;
}

bool plainly_owned(const Caller& caller, Inode& inode, int fd, int want) {
  struct stat s;
  return is_local(inode, fd) && fstat(fd, &s) == 0 && plainly_owned(caller, s, want);
}

bool plainly_allowed(const Caller& caller, Inode& inode, int fd, int want) {
  struct stat s;
  if (!is_local(inode, fd) || fstat(fd, &s) != 0) return false;
  if (s.st_uid == caller.uid) return plainly_owned(caller, s, want);
  // Whether a group counts does not matter where it has what others have.
  return (int(s.st_mode >> 3) & int(s.st_mode) & want) == want && !has_access_acl(fd);
}

}  // namespace fsr::shim
