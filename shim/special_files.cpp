// SPDX-License-Identifier: Apache-2.0
#include "special_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "permission.hpp"

namespace fsr::shim {

namespace {

// 0 or errno.
int asked_below(const Request& r, int fd, int want) {
  CallerScope as_caller(r.caller, CallerScope::kAll, {fd});
  return faccessat(fd, "", want, AT_EACCESS | AT_EMPTY_PATH) == 0 ? 0 : errno;
}

int all_that_can_be_done(uint32_t mode) { return S_ISSOCK(mode) ? W_OK : R_OK | W_OK; }

// True for the mark that overlayfs leaves in place of a removed name. No device is behind it.
bool is_whiteout(const struct stat& s) { return S_ISCHR(s.st_mode) && s.st_rdev == 0; }

}  // namespace

bool is_special(uint32_t mode) { return !S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode); }

uint32_t shown_mode(fuse_ino_t ino, uint32_t mode) {
  if (!(ino & kStandIn) || S_ISSOCK(mode)) return mode;
  return (mode & ~uint32_t(S_IFMT)) | S_IFREG;
}

void guard_special(Request& r, fuse_entry_param* entry) {
  if (!is_special(entry->attr.st_mode) || is_whiteout(entry->attr) || r.shim.kernel_checks) return;
  Inode* inode = r.inode(entry->ino);
  LowerFd fd(r.shim.inodes, inode);
  if (fd.value() >= 0) {
    if (is_local(*inode, fd.value()) && acts_as_root(r.caller)) return;
    if (asked_below(r, fd.value(), all_that_can_be_done(entry->attr.st_mode)) == 0) return;
  }
  entry->ino |= kStandIn;
  entry->attr.st_mode = shown_mode(entry->ino, entry->attr.st_mode);
}

int refuse_stand_in(const Request& r, int fd, int flags) {
  const int mode = flags & O_ACCMODE;
  const int want = mode == O_RDONLY ? R_OK : mode == O_WRONLY ? W_OK : R_OK | W_OK;
  if (int error = asked_below(r, fd, want); error != 0) return error;
  return asked_below(r, fd, R_OK | W_OK) == 0 ? ESTALE : EACCES;
}

}  // namespace fsr::shim
