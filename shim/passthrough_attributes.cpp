// SPDX-License-Identifier: Apache-2.0
// getattr, setattr, access, readlink, statfs.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "newer_requests.hpp"
#include "passthrough.hpp"
#include "permission.hpp"
#include "space_limits.hpp"
#include "special_files.hpp"

namespace fsr::shim {

namespace {

int64_t ns(const timespec& t) { return time_in_ns(t.tv_sec, t.tv_nsec); }

// getattr and statx up to their replies, which differ. True: `s` is filled and the operation recorded; false: replied.
bool attributes(Request& r, fuse_ino_t ino, fuse_file_info* fi, struct statx* s) {
  Inode* inode = r.inode(ino);
  r.op.object = inode->id;
  OpenHandle* h = fi ? r.handle(fi) : nullptr;
  r.begin();
  int error = h ? r.shim.inodes.stat_at(h->fd, "", s) : r.shim.inodes.stat(inode, s);
  if (error == 0 && replaced_behind(*inode, s->stx_nlink)) error = -ESTALE;
  if (error != 0) {
    r.fail(-error);
    return false;
  }
  r.learned(*s);
  r.end(0);
  return true;
}

void getattr(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi) {
  Request r(req, serving_statx() ? OpKind::statx : OpKind::getattr);
  struct statx s;
  if (!attributes(r, ino, fi, &s)) return;
  s.stx_mode = uint16_t(shown_mode(ino, s.stx_mode));
  if (serving_statx()) note_statx(s);
  struct stat st;
  to_stat(s, &st);
  fuse_reply_attr(req, &st, r.shim.entries.attr_timeout());
}

#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 18)
// Linux 6.6 and newer send it when an application asks for more than stat(2) has.
void statx(fuse_req_t req, fuse_ino_t ino, int, int, fuse_file_info* fi) {
  Request r(req, OpKind::statx);
  struct statx s;
  if (!attributes(r, ino, fi, &s)) return;
  s.stx_mode = uint16_t(shown_mode(ino, s.stx_mode));
  fuse_reply_statx(req, 0, &s, r.shim.entries.attr_timeout());
}
#endif

// Returns the requested changes in the form of a trace.
Attr requested(const struct stat& want, int to_set) {
  Attr set;
  if (to_set & FUSE_SET_ATTR_MODE) set.valid |= kAttrMode, set.mode = want.st_mode & 07777;
  if (to_set & FUSE_SET_ATTR_UID) set.valid |= kAttrUid, set.uid = want.st_uid;
  if (to_set & FUSE_SET_ATTR_GID) set.valid |= kAttrGid, set.gid = want.st_gid;
  if (to_set & FUSE_SET_ATTR_SIZE) set.valid |= kAttrSize, set.size = uint64_t(want.st_size);
  if (to_set & FUSE_SET_ATTR_ATIME) set.valid |= kAttrAtime, set.atime = ns(want.st_atim);
  if (to_set & FUSE_SET_ATTR_MTIME) set.valid |= kAttrMtime, set.mtime = ns(want.st_mtim);
  if (to_set & FUSE_SET_ATTR_ATIME_NOW) set.valid |= kAttrAtimeNow;
  if (to_set & FUSE_SET_ATTR_MTIME_NOW) set.valid |= kAttrMtimeNow;
  return set;
}

timespec time_to_set(int to_set, int explicit_bit, int now_bit, const timespec& given) {
  if (to_set & now_bit) return {0, UTIME_NOW};
  if (to_set & explicit_bit) return given;
  return {0, UTIME_OMIT};
}

// Changes attributes, with the rights of the caller. Ownership comes first, because it clears set-id bits, which a mode may set.
int change(Shim& shim, int fd, OpenHandle* h, const struct stat& want, int to_set) {
  // chown(path, -1, -1) changes nothing, but clears set-id bits. The kernel sends the same request before fallocate(2) by a
  // caller who may write; that call clears them itself.
  if (to_set == 0) (void)fchownat(fd, "", uid_t(-1), gid_t(-1), AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
  if (to_set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) {
    uid_t uid = to_set & FUSE_SET_ATTR_UID ? want.st_uid : uid_t(-1);
    gid_t gid = to_set & FUSE_SET_ATTR_GID ? want.st_gid : gid_t(-1);
    if (fchownat(fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0) return errno;
  }
  if (to_set & FUSE_SET_ATTR_MODE) {
    int result = h ? fchmod(h->fd, want.st_mode & 07777) : fchmodat(shim.proc_fd, FdPath(fd).text, want.st_mode & 07777, 0);
    if (result != 0) return errno;
  }
  if (to_set & FUSE_SET_ATTR_SIZE) {
    // Truncate by path if the application did, because truncate(2) to the same size does not change the times.
    if ((h ? ftruncate(h->fd, want.st_size) : truncate(FdPath(fd).text, want.st_size)) != 0) return errno;
  }
  if (to_set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW)) {
    timespec times[2] = {time_to_set(to_set, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, want.st_atim),
                         time_to_set(to_set, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, want.st_mtim)};
    if (utimensat(fd, "", times, AT_EMPTY_PATH) != 0) return errno;
  }
  return 0;
}

void setattr(fuse_req_t req, fuse_ino_t ino, struct stat* want, int to_set, fuse_file_info* fi) {
  Request r(req, OpKind::setattr);
  Inode* inode = r.inode(ino);
  r.op.object = inode->id;
  r.set_attr(requested(*want, to_set));
  OpenHandle* h = fi ? r.handle(fi) : nullptr;
  r.begin();
  LowerFd fd(r.shim.inodes, inode);
  if (fd.value() < 0) return r.fail(-fd.value());
  constexpr int kTimes = FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW;
  if (to_set & FUSE_SET_ATTR_SIZE) r.changes_content(fd.value());
  bool own = to_set != 0 && (to_set & ~(kTimes | FUSE_SET_ATTR_CTIME)) == 0 && plainly_owned(r.caller, *inode, fd.value(), 0);
  std::optional<EntryCache::Change> closing;
  if (S_ISDIR(inode->type) && (to_set & FUSE_SET_ATTR_MODE) && (want->st_mode & 0111) != 0111)
    closing.emplace(r.shim.entries, *inode);
  int error;
  {
    CallerScope as_caller(r.caller, own ? CallerScope::kNothing : caller_extent(*inode, fd.value(), CallerScope::kAll),
                          {fd.value()});
    error = change(r.shim, fd.value(), h, *want, to_set);
  }
  if (error == 0 && (to_set & FUSE_SET_ATTR_SIZE)) r.shim.page_bases.zeroed(ino, uint64_t(want->st_size), UINT64_MAX);
  // A refused change of the mode has closed nothing.
  if (closing && error != EPERM && error != EACCES && error != EROFS) closing->applied();
  struct statx s;
  if (error == 0) error = -r.shim.inodes.stat_at(fd.value(), "", &s);
  if (error != 0) return r.fail(error);
  r.learned(s);
  r.end(0);
  struct stat st;
  to_stat(s, &st);
  st.st_mode = shown_mode(ino, st.st_mode);
  fuse_reply_attr(req, &st, r.shim.entries.attr_timeout());
}

void access(fuse_req_t req, fuse_ino_t ino, int mask) {
  Request r(req, OpKind::access);
  Inode* inode = r.inode(ino);
  r.op.object = inode->id;
  r.op.mode = uint32_t(mask) & 7;
  // access(2) is about the real user, who has capabilities only as root; chdir(2) is about the caller.
  const bool enters = S_ISDIR(inode->type) && (mask & 7) == X_OK;
  if (r.caller.uid != 0 && !enters && !r.caller.capabilities().belong_to_root(r.caller.uid)) r.caller.lose(~uint64_t(0));
  r.begin();
  LowerFd fd(r.shim.inodes, inode);
  if (fd.value() < 0) return r.fail(-fd.value());
  bool allowed = !acts_as_root(r.caller) && plainly_allowed(r.caller, *inode, fd.value(), mask & 7);
  int error;
  {
    CallerScope as_caller(r.caller, allowed ? CallerScope::kNothing : CallerScope::kAll, {fd.value()});
    error = faccessat(fd.value(), "", mask & 7, AT_EACCESS | AT_EMPTY_PATH) == 0 ? 0 : errno;
  }
  r.fail(error);
}

void readlink(fuse_req_t req, fuse_ino_t ino) {
  Request r(req, OpKind::readlink);
  Inode* inode = r.inode(ino);
  r.op.object = inode->id;
  r.begin();
  LowerFd fd(r.shim.inodes, inode);
  if (fd.value() < 0) return r.fail(-fd.value());
  char target[PATH_MAX + 1];
  ssize_t n = readlinkat(fd.value(), "", target, PATH_MAX);
  if (n < 0) return r.fail(errno);
  target[n] = 0;
  r.op.data = {target, size_t(n)};
  r.end(0);
  fuse_reply_readlink(req, target);
}

void statfs(fuse_req_t req, fuse_ino_t ino) {
  Request r(req, OpKind::statfs);
  Inode* inode = r.inode(ino);
  r.op.object = inode->id;
  r.begin();
  LowerFd fd(r.shim.inodes, inode);
  struct statvfs st;
  if (fd.value() < 0) return r.fail(-fd.value());
  if (fstatvfs(fd.value(), &st) != 0) return r.fail(errno);
  r.end(0);
  fuse_reply_statfs(req, &st);
}

}  // namespace

void add_attribute_operations(fuse_lowlevel_ops& ops) {
  ops.getattr = uncancelled<getattr>;
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 18)
  ops.statx = uncancelled<statx>;
#endif
  ops.setattr = identified<setattr>;
  ops.access = identified<access>;
  ops.readlink = identified<readlink>;
  ops.statfs = identified<statfs>;
}

}  // namespace fsr::shim
