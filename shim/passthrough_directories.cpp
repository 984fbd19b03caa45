// SPDX-License-Identifier: Apache-2.0
// opendir, readdir, releasedir, fsyncdir.
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "passthrough.hpp"

namespace fsr::shim {

namespace {

void opendir(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi) {
  Request r(req, OpKind::opendir);
  Inode* inode = r.inode(ino);
  r.op.object = inode->id;
  r.op.open_flags = uint32_t(fi->flags);
  r.begin();
  if (!may_open_more(r)) return r.fail(ENFILE);
  LowerFd path(r.shim.inodes, inode);
  if (path.value() < 0) return r.fail(-path.value());
  int fd;
  {
    CallerScope as_caller(r.caller, extent_to_open(r, *inode, path.value(), fi->flags), {path.value()});
    fd = open_lower(r.shim, path.value(), O_RDONLY | O_DIRECTORY | (fi->flags & O_NOATIME));
  }
  if (fd < 0) return r.fail(-fd);
  add_handle(r, fd, inode, fi);
  r.end(0);
  if (fuse_reply_open(req, fi) == -ENOENT) drop_handle(r.shim, reinterpret_cast<OpenHandle*>(fi->fh));
}

// The layout of getdents64.
struct LowerEntry {
  uint64_t ino;
  int64_t next;
  uint16_t bytes;
  uint8_t type;
  char name[1];
};

void readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, fuse_file_info* fi) {
  Request r(req, OpKind::readdir);
  r.op.object = r.inode(ino)->id;
  r.op.offset = uint64_t(offset);
  r.op.length = size;
  OpenHandle* h = r.handle(fi);
  r.begin();
  thread_local std::vector<char> lower, reply;
  thread_local std::vector<DirEntry> entries;
  // An entry of FUSE takes at most 4/3 of what it takes in getdents64: whatever comes fits the reply.
  lower.resize(std::max<size_t>(size / 4 * 3, 512));
  reply.resize(size);
  entries.clear();
  long got;
  int error = 0;
  {
    std::lock_guard lock(h->position);
    // A listing that begins anew is told so: btrfs shows what was made since the last time from there on only.
    if ((offset == 0 || uint64_t(offset) != h->cursor) && ::lseek(h->fd, offset, SEEK_SET) < 0) error = errno;
    got = error ? -1 : syscall(SYS_getdents64, h->fd, lower.data(), lower.size());
    if (got < 0 && !error) error = errno;
    h->cursor = uint64_t(offset);
    for (long at = 0; at < got;) {
      auto* e = reinterpret_cast<LowerEntry*>(lower.data() + at);
      h->cursor = uint64_t(e->next);
      at += e->bytes;
    }
  }
  if (error != 0) return r.fail(error);
  size_t used = 0;
  for (long at = 0; at < got;) {
    auto* e = reinterpret_cast<LowerEntry*>(lower.data() + at);
    const char* name = lower.data() + at + offsetof(LowerEntry, name);
    struct stat s = {};
    s.st_ino = r.shim.inodes.shown_ino(h->inode->key.dev, e->ino);
    s.st_mode = DTTOIF(e->type);
    size_t need = fuse_add_direntry(req, reply.data() + used, size - used, name, &s, off_t(e->next));
    if (need > size - used) break;  // the next call seeks back: its offset is not the underlying position
    used += need;
    entries.push_back({.name = name, .ino = e->ino, .type = s.st_mode & S_IFMT});
    at += e->bytes;
  }
  r.op.entries = entries;
  r.op.result = entries.size();
  r.end(0);
  fuse_reply_buf(req, reply.data(), used);
}

void releasedir(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi) {
  Request r(req, OpKind::releasedir);
  r.op.object = r.inode(ino)->id;
  OpenHandle* h = r.handle(fi);
  r.begin();
  close_locks_through(r.shim, h);
  drop_handle(r.shim, h);
  r.fail(0);
}

void fsyncdir(fuse_req_t req, fuse_ino_t ino, int data_only, fuse_file_info* fi) {
  Request r(req, OpKind::fsyncdir);
  r.op.object = r.inode(ino)->id;
  r.op.flags = data_only != 0;
  OpenHandle* h = r.handle(fi);
  r.begin();
  r.fail((data_only ? fdatasync(h->fd) : ::fsync(h->fd)) == 0 ? 0 : errno);
}

}  // namespace

void add_directory_operations(fuse_lowlevel_ops& ops) {
  ops.opendir = identified<opendir>;
  ops.readdir = uncancelled<readdir>;
  ops.releasedir = uncancelled<releasedir>;
  ops.fsyncdir = uncancelled<fsyncdir>;
}

}  // namespace fsr::shim
