// SPDX-License-Identifier: Apache-2.0
// open, create, tmpfile, flush, release: the life of an open instance.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "connection.hpp"
#include "mapping_recorder.hpp"
#include "newer_requests.hpp"
#include "passthrough.hpp"
#include "permission.hpp"
#include "special_files.hpp"
#include "unread_programs.hpp"

namespace fsr::shim {

namespace {

constexpr int kExec = 0x20;  // the kernel opens the file to execute it
// Not for the underlying open: what the kernel has dealt with, and what would make the underlying file behave differently.
constexpr int kNotLower = O_CREAT | O_EXCL | O_NOCTTY | O_CLOEXEC | O_NOFOLLOW | kExec;

// SQLite maps its write-ahead index shared, which direct I/O does not allow before Linux 6.6.
bool needs_cache(Shim& shim, Inode* inode) { return !shared_mappings_allowed() && shim.inodes.name_ends_with(inode, "-shm"); }

// True: the underlying file system lets several writers of one file work at the same time. Otherwise a write is atomic, even if
// the kernel makes several requests of it.
bool writes_in_parallel(int fd, int flags) {
  struct statfs fs;
  return (flags & O_DIRECT) && fstatfs(fd, &fs) == 0 && fs.f_type != TMPFS_MAGIC;
}

void make_handle(Request& r, int fd, Inode* inode, fuse_file_info* fi) {
  OpenHandle* h = add_handle(r, fd, inode, fi);
  // Opened with O_APPEND so that the underlying file system could judge it; from here on each append says so itself.
  if (fi->flags & O_APPEND)
    h->append_only = fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_APPEND) != 0 && (fi->flags & O_ACCMODE) != O_RDONLY;
  h->cached = !r.shim.entries.keeps_data() && needs_cache(r.shim, inode);
  fi->direct_io = !r.shim.entries.keeps_data() && !h->cached;
  fi->keep_cache = 0;
  h->maps = fi->direct_io;
  bool keeps_pages = (fi->flags & O_ACCMODE) == O_RDWR && (!fi->direct_io || shared_mappings_allowed());
  if (h->maps)
    if (const int id = r.shim.backings.opened(*inode, fd, (fi->flags & (O_ACCMODE | O_TRUNC)) != O_RDONLY); id != 0) {
      keeps_pages = false;
      if (r.shim.mapping_recorder) r.shim.mapping_recorder->opened(*h);
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 18)
      fi->backing_id = id;
#else
      note_backing(id);
#endif
    }
  h->keeps_pages.store(keeps_pages, std::memory_order_relaxed);
  if (!fi->direct_io || !writes_in_parallel(fd, fi->flags)) return;
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 15)
  fi->parallel_direct_writes = 1;
#else
  note_parallel_writes();
#endif
}

// True: the caller may not read the program that it executes. Call this with the process's own rights.
bool runs_unread(const Request& r, Inode& inode, int fd) {
  if (r.shim.kernel_checks || acts_as_root(r.caller) || plainly_allowed(r.caller, inode, fd, R_OK)) return false;
  CallerScope as_caller(r.caller, CallerScope::kAll, {fd});
  return faccessat(fd, "", R_OK, AT_EACCESS | AT_EMPTY_PATH) != 0;
}

// Drops a handle whose reply could not be delivered, because the caller was killed: the kernel sends no RELEASE.
void undo(Request& r, fuse_file_info* fi) { drop_handle(r.shim, reinterpret_cast<OpenHandle*>(fi->fh)); }

void open(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi) {
  Request r(req, OpKind::open);
  Inode* inode = r.inode(ino);
  r.op.object = inode->id;
  r.op.open_flags = uint32_t(fi->flags);
  r.begin();
  if (!may_open_more(r)) return r.fail(ENFILE);
  LowerFd path(r.shim.inodes, inode);
  if (path.value() < 0) return r.fail(-path.value());
  if (ino & kStandIn) return r.fail(refuse_stand_in(r, path.value(), fi->flags));
  if (fi->flags & O_TRUNC) r.changes_content(path.value());
  int fd = -1;
  {
    CallerScope as_caller(r.caller, extent_to_open(r, *inode, path.value(), fi->flags), {path.value()});
    if (fi->flags & kExec) {
      if (faccessat(path.value(), "", X_OK, AT_EACCESS | AT_EMPTY_PATH) != 0) return r.fail(errno);
    } else {
      fd = open_lower(r.shim, path.value(), fi->flags & ~kNotLower);
    }
  }
  // Executing a file requires no read permission.
  if (fi->flags & kExec) {
    if (!g_unread_program_ran.load(std::memory_order_relaxed) && runs_unread(r, *inode, path.value()))
      g_unread_program_ran = true;
    const ReopenScope unread;
    fd = open_lower(r.shim, path.value(), fi->flags & ~kNotLower);
  }
  struct stat s;
  if (fd >= 0 && inode->kept_until != 0 && fstat(fd, &s) == 0 && replaced_behind(*inode, s.st_nlink)) {
    close(fd);
    fd = -ESTALE;
  }
  struct statvfs fs;
  if (fd >= 0 && (fi->flags & kExec) && fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_NOEXEC)) {
    close(fd);
    fd = -EACCES;
  }
  if (fd < 0) return r.fail(-fd);
  if (fi->flags & O_TRUNC) r.shim.page_bases.zeroed(ino, 0, UINT64_MAX);
  make_handle(r, fd, inode, fi);
  r.end(0);
  if (fuse_reply_open(req, fi) == -ENOENT) undo(r, fi);
}

// The name exists after all: opens what it stands for if that is a regular file. fd or -errno; -ESTALE sends the kernel back to
// looking the name up, which finds symlinks, FIFOs and directories for what they are.
int open_found(Request& r, int dir, const char* name, int flags) {
  int path_fd = open_at(r.shim, dir, name, O_PATH | O_NOFOLLOW, 0);
  if (path_fd < 0) return path_fd;
  struct stat s;
  int fd = fstat(path_fd, &s) == 0 && S_ISREG(s.st_mode) ? open_lower(r.shim, path_fd, flags & ~kNotLower) : -ESTALE;
  close(path_fd);
  return fd;
}

// Makes or opens; says race-free which of the two happened.
int create_lower(Request& r, Inode& parent, int dir, const char* name, mode_t mode, int flags, bool* made) {
  int lower_flags = (flags & ~kNotLower) | O_CREAT | O_EXCL | O_NOFOLLOW;
  for (int attempt = 0;; ++attempt) {
    int fd;
    {
      CallerScope as_caller(r.caller, extent_to_make(r, parent, dir, mode), {dir});
      thread_umask(r.caller.umask);
      fd = open_at(r.shim, dir, name, lower_flags, mode);
    }
    *made = fd >= 0;
    if (fd != -EEXIST || (flags & O_EXCL)) return fd;
    CallerScope as_caller(r.caller, CallerScope::kAll, {dir});
    fd = open_found(r, dir, name, flags);
    // Made by another and gone again in between: ours to make, but not for ever.
    if (fd != -ENOENT || attempt == 16) return fd;
  }
}

void tmpfile(fuse_req_t req, fuse_ino_t parent_ino, mode_t mode, fuse_file_info* fi) {
  Request r(req, OpKind::tmpfile);
  Inode* parent = r.inode(parent_ino);
  r.op.parent = parent->id;
  r.op.open_flags = uint32_t(fi->flags);
  r.op.mode = mode & ~r.caller.umask;
  r.begin();
  if (!may_open_more(r)) return r.fail(ENFILE);
  LowerFd dir(r.shim.inodes, parent);
  if (dir.value() < 0) return r.fail(-dir.value());
  int fd;
  {
    CallerScope as_caller(r.caller, CallerScope::kAll, {dir.value()});
    thread_umask(r.caller.umask);
    int flags = (fi->flags & ~(kNotLower & ~O_EXCL)) | O_TMPFILE;
    fd = open_at(r.shim, r.shim.proc_fd, FdPath(dir.value()).text, flags, mode);
  }
  if (fd < 0) return r.fail(-fd);
  fuse_entry_param entry;
  int error = adopt(r, fd, nullptr, "", 0, &entry);
  if (error != 0) {
    close(fd);
    return r.fail(error);
  }
  r.made(mode);
  r.shim.inodes.pin(r.inode(entry.ino)->key, -1, r.caller.uid);
  make_handle(r, fd, r.inode(entry.ino), fi);
  r.end(0);
  if (fuse_reply_create(req, &entry, fi) == -ENOENT) {
    undo(r, fi);
    r.shim.inodes.forget(r.inode(entry.ino), 1);
  }
}

void create(fuse_req_t req, fuse_ino_t parent_ino, const char* name, mode_t mode, fuse_file_info* fi) {
  if (name == std::string_view(kNoName)) return tmpfile(req, parent_ino, mode, fi);
  Request r(req, OpKind::create);
  Inode* parent = r.inode(parent_ino);
  r.op.parent = parent->id;
  r.op.name = name;
  r.op.open_flags = uint32_t(fi->flags);
  r.op.mode = mode & ~r.caller.umask;
  r.begin();
  if (!may_open_more(r)) return r.fail(ENFILE);
  LowerFd dir(r.shim.inodes, parent);
  if (dir.value() < 0) return r.fail(-dir.value());
  EntryCache::LookupPolicy way = r.shim.entries.search(*parent, dir.value(), r.caller);
  bool made = false;
  int fd = create_lower(r, *parent, dir.value(), name, mode, fi->flags, &made);
  if (fd < 0) return r.fail(-fd);
  fuse_entry_param entry;
  int error = adopt(r, fd, parent, name, way.timeout, &entry);
  if (error != 0) {
    close(fd);
    return r.fail(error);
  }
  if (made) {
    r.op.op_flags |= kOpCreated;
    r.made(mode);
  }
  make_handle(r, fd, r.inode(entry.ino), fi);
  r.shim.entries.answering(*r.inode(entry.ino), entry.entry_timeout);
  r.end(0);
  if (fuse_reply_create(req, &entry, fi) == -ENOENT) {
    undo(r, fi);
    r.shim.inodes.forget(r.inode(entry.ino), 1);
  }
}

void flush(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi) {
  Request r(req, OpKind::flush);
  Inode* inode = r.inode(ino);
  r.op.object = inode->id;
  r.op.owner = fi->lock_owner;
  OpenHandle* h = r.handle(fi);
  r.begin();
  note_flush(r.shim, h);
  close_locks_of(r.shim, inode, fi->lock_owner);
  // A local file system has nothing to say at a close.
  if (is_local(*inode, h->fd)) return r.ok();
  // A duplicate's close makes the underlying file system say what a close of the file itself would say.
  int fd = fcntl(h->fd, F_DUPFD_CLOEXEC, 0);
  if (fd < 0 && errno == EMFILE) {
    r.shim.inodes.shrink();
    fd = fcntl(h->fd, F_DUPFD_CLOEXEC, 0);
  }
  r.fail(fd < 0 ? errno : close(fd) == 0 ? 0 : errno);
}

void release(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi) {
  Request r(req, OpKind::release);
  r.op.object = r.inode(ino)->id;
  OpenHandle* h = r.handle(fi);
  if (h->maps && r.shim.mapping_recorder) r.shim.mapping_recorder->closed(*h);
  r.begin();
  // First the locks: who finds no handle that is going (passthrough_locks.cpp) must find no lock of one either.
  if (h->locked.load()) ::flock(h->fd, LOCK_UN);
  close_locks_through(r.shim, h);
  drop_handle(r.shim, h);
  r.fail(0);
}

}  // namespace

void add_open_operations(fuse_lowlevel_ops& ops) {
  ops.open = identified<open>;
  ops.create = identified<create>;
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 18)
  ops.tmpfile = identified<tmpfile>;
#endif
  ops.flush = uncancelled<flush>;
  ops.release = uncancelled<release>;
}

}  // namespace fsr::shim
