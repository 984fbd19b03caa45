// SPDX-License-Identifier: Apache-2.0
// read, write, copy_file_range, fallocate, lseek, fsync, and the ioctls that are file attributes in disguise.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "page_drops.hpp"
#include "passthrough.hpp"
#include "permission.hpp"
#include "space_limits.hpp"
#include "util/page_size.hpp"

namespace fsr::shim {

namespace {

// Bytes that one call copies at most, as in read(2) (MAX_RW_COUNT). A file system that shares extents may copy more at once, for
// which a FUSE reply has no room: its count has 32 bits.
constexpr size_t kMostCopied = 0x7ffff000;

// Page-aligned memory of the calling thread, for O_DIRECT.
char* thread_buffer(size_t size) {
  thread_local struct Buffer {
    char* memory = nullptr;
    size_t size = 0;
    ~Buffer() { free(memory); }
  } buffer;
  if (size > buffer.size) {
    free(buffer.memory);
    buffer.size = (size + 0xfffff) & ~size_t(0xfffff);
    buffer.memory = static_cast<char*>(aligned_alloc(page_size(), buffer.size));
    if (!buffer.memory) buffer.size = 0;
  }
  return buffer.memory;
}

// True: pages of mappings are in the FUSE inode's page cache. Stores through mappings change them there; writes do only if the
// file is cached.
bool merges(Shim& shim, const OpenHandle& h) { return h.cached || (h.maps && !shim.backings.is_lower(*h.inode)); }

// Writes the bytes that were stored through mappings. Returns `size`, or -1 and errno. The kernel takes a short count for a
// success.
ssize_t write_back(Shim& shim, uint64_t node, int fd, const char* data, size_t size, off_t offset) {
  for (const PageBases::Run& run : shim.page_bases.stored(node, uint64_t(offset), data, size))
    for (size_t done = 0; done < run.length;) {
      const size_t at = run.at + done;
      const ssize_t n = pwrite(fd, data + at, run.length - done, offset + off_t(at));
      if (n == 0) errno = EIO;
      if (n <= 0) return -1;
      done += size_t(n);
    }
  shim.page_bases.written(node, uint64_t(offset), data, size);
  return ssize_t(size);
}

void read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, fuse_file_info* fi) {
  Request r(req, OpKind::read);
  r.op.object = r.inode(ino)->id;
  r.op.offset = uint64_t(offset);
  r.op.length = size;
  OpenHandle* h = r.handle(fi);
  // Only a read that a process asked for names the process as a lock owner; the rest fills pages (fuse_send_read() of Linux).
  const bool fills_pages = fi->lock_owner == 0;
  if (fills_pages) r.op.op_flags |= kOpKernel;
  r.begin();
  char* buffer = thread_buffer(size);
  if (!buffer) return r.fail(ENOMEM);
  const int fd = lower_fd(r.shim, h, (fi->flags & O_DIRECT) && !fills_pages);
  PageDrops* drops = fills_pages && r.shim.backings.is_lower(*h->inode) ? r.shim.page_drops : nullptr;
  if (drops && drops->keeps(ino, fd)) drops = nullptr;
  ssize_t n = pread(fd, buffer, size, offset);
  if (n < 0) return r.fail(errno);
  r.op.result = uint64_t(n);
  r.content(buffer, size_t(n));
  r.end(0);
  if (fills_pages && merges(r.shim, *h)) r.shim.page_bases.given(ino, uint64_t(offset), buffer, size_t(n), size);
  fuse_reply_buf(req, buffer, size_t(n));
  if (drops) drops->filled(ino);
}

// A write takes set-id bits away as it should only when the caller itself does it.
CallerScope::Extent extent_to_write(Request& r, const OpenHandle& h, int fd) {
  struct stat s;
  if (!acts_as_root(r.caller) && fstat(fd, &s) == 0 && (s.st_mode & (S_ISUID | S_ISGID)) != 0) {
    r.changes_content(fd);
    return CallerScope::kBeyondLimits;
  }
  return caller_extent(*h.inode, fd, CallerScope::kNothing);
}

// The bits were taken away, or not, when the mapping was written to.
CallerScope::Extent extent_to_write_back(const OpenHandle& h, int fd) {
  bool limited = caller_extent(*h.inode, fd, CallerScope::kNothing) != CallerScope::kNothing;
  return limited ? CallerScope::kWriteBack : CallerScope::kNothing;
}

// The file position then shows where the data was written.
ssize_t append(OpenHandle* h, int fd, bool direct, const iovec& data, int rwf, uint64_t* landed) {
  // A file system of servers may go by the size that it knows.
  struct stat s;
  if (!is_local(*h->inode, fd)) fstat(fd, &s);
  std::lock_guard lock(h->position);
  // XFS wants the position aligned before it goes to the end.
  if (direct) lseek(fd, 0, SEEK_SET);
  ssize_t n = pwritev2(fd, &data, 1, -1, rwf | RWF_APPEND);
  if (n >= 0) *landed = uint64_t(lseek(fd, 0, SEEK_CUR)) - uint64_t(n);
  return n;
}

void write(fuse_req_t req, fuse_ino_t ino, const char* data, size_t size, off_t offset, fuse_file_info* fi) {
  Request r(req, OpKind::write);
  r.op.object = r.inode(ino)->id;
  r.op.offset = uint64_t(offset);
  r.op.length = size;
  OpenHandle* h = r.handle(fi);
  if (fi->writepage) r.op.op_flags |= kOpKernel;
  // The flags are those of this moment (F_SETFL); write-back has none.
  const bool appending = (fi->flags & O_APPEND) != 0 && !fi->writepage;
  const bool direct = (fi->flags & O_DIRECT) != 0 && !fi->writepage;
  if (appending) r.op.op_flags |= kOpAppend;
  r.begin();
  // Only mappings write into the middle of such a file; on the file system itself there are none.
  if (h->append_only && !appending) return r.fail(EPERM);
  const int fd = lower_fd(r.shim, h, direct);
  const char* from = data;
  if (direct && reinterpret_cast<uintptr_t>(data) % page_size() != 0) {
    char* aligned = thread_buffer(size);
    if (!aligned) return r.fail(ENOMEM);
    memcpy(aligned, data, size);
    from = aligned;
  }
  iovec iov{const_cast<char*>(from), size};
  // RWF_DSYNC and RWF_SYNC of a single write arrive as flags.
  int rwf = 0;
  if ((fi->flags & O_SYNC) == O_SYNC && (h->flags & O_SYNC) != O_SYNC)
    rwf = RWF_SYNC;
  else if ((fi->flags & O_DSYNC) && !(h->flags & O_DSYNC))
    rwf = RWF_DSYNC;
  ssize_t n;
  int error;
  {
    CallerScope as_caller(r.caller, fi->writepage ? extent_to_write_back(*h, fd) : extent_to_write(r, *h, fd), {fd});
    if (fi->writepage && merges(r.shim, *h))
      n = write_back(r.shim, ino, fd, data, size, offset);
    else
      n = appending ? append(h, fd, direct, iov, rwf, &r.op.offset) : pwritev2(fd, &iov, 1, offset, rwf);
    error = n < 0 ? errno : 0;
  }
  if (error != 0) return r.fail(error);
  r.op.result = uint64_t(n);
  r.content(data, size_t(n));
  r.end(0);
  if (h->cached && !fi->writepage) r.shim.page_bases.changed(ino, r.op.offset, data, size_t(n));
  fuse_reply_write(req, size_t(n));
}

void copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in, fuse_file_info* fi_in, fuse_ino_t ino_out, off_t off_out,
                     fuse_file_info* fi_out, size_t size, int flags) {
  Request r(req, OpKind::copy_file_range);
  OpenHandle* to = r.handle(fi_out);
  OpenHandle* from = r.handle(fi_in);
  r.op.object = r.inode(ino_in)->id;
  r.op.offset = uint64_t(off_in);
  r.op.object2 = r.inode(ino_out)->id;
  r.op.handle2 = to->id;
  r.op.offset2 = uint64_t(off_out);
  r.op.length = size;
  r.op.flags = uint32_t(flags);
  r.begin();
  // The kernel does not tell whether the application chose O_DIRECT since.
  const int source = lower_fd(r.shim, from, false), target = lower_fd(r.shim, to, false);
  ssize_t n;
  int error;
  {
    CallerScope as_caller(r.caller, extent_to_write(r, *to, target), {target});
    n = ::copy_file_range(source, &off_in, target, &off_out, std::min(size, kMostCopied), unsigned(flags));
    error = n < 0 ? errno : 0;
  }
  if (error != 0) return r.fail(error);
  r.op.result = uint64_t(n);
  r.end(0);
  fuse_reply_write(req, size_t(n));
}

void fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length, fuse_file_info* fi) {
  Request r(req, OpKind::fallocate);
  r.op.object = r.inode(ino)->id;
  r.op.offset = uint64_t(offset);
  r.op.length = uint64_t(length);
  r.op.mode = uint32_t(mode);
  OpenHandle* h = r.handle(fi);
  r.begin();
  int error;
  {
    CallerScope as_caller(r.caller, extent_to_write(r, *h, h->fd), {h->fd});
    error = ::fallocate(h->fd, mode, offset, length) == 0 ? 0 : errno;
  }
  if (error == 0 && (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0)
    r.shim.page_bases.zeroed(ino, uint64_t(offset), uint64_t(offset + length));
  r.fail(error);
}

void lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence, fuse_file_info* fi) {
  Request r(req, OpKind::lseek);
  r.op.object = r.inode(ino)->id;
  r.op.offset = uint64_t(offset);
  r.op.mode = uint32_t(whence);
  OpenHandle* h = r.handle(fi);
  r.begin();
  off_t at;
  int error;
  {
    std::lock_guard lock(h->position);
    at = ::lseek(h->fd, offset, whence);
    error = at < 0 ? errno : 0;
  }
  if (error != 0) return r.fail(error);
  r.op.result = uint64_t(at);
  r.end(0);
  fuse_reply_lseek(req, at);
}

void fsync(fuse_req_t req, fuse_ino_t ino, int data_only, fuse_file_info* fi) {
  Request r(req, OpKind::fsync);
  r.op.object = r.inode(ino)->id;
  r.op.flags = data_only != 0;
  OpenHandle* h = r.handle(fi);
  r.begin();
  r.fail((data_only ? fdatasync(h->fd) : ::fsync(h->fd)) == 0 ? 0 : errno);
}

// Bytes that a supported ioctl moves; 0: not supported. GET commands answer, SET commands take.
size_t ioctl_bytes(unsigned command) {
  switch (command) {
    case FS_IOC_GETFLAGS:
    case FS_IOC_SETFLAGS:
      return sizeof(int);
    case FS_IOC_GETVERSION:
      return sizeof(long);
    case FS_IOC_FSGETXATTR:
    case FS_IOC_FSSETXATTR:
      return sizeof(fsxattr);
    default:
      return 0;
  }
}

void ioctl(fuse_req_t req, fuse_ino_t ino, unsigned command, void*, fuse_file_info* fi, unsigned, const void* in, size_t in_size,
           size_t out_size) {
  Request r(req, OpKind::ioctl);
  r.op.object = r.inode(ino)->id;
  r.op.flags = command;
  OpenHandle* h = r.handle(fi);
  r.begin();
  size_t bytes = ioctl_bytes(command);
  bool sets = command == FS_IOC_SETFLAGS || command == FS_IOC_FSSETXATTR;
  if (bytes == 0) return r.fail(ENOTTY);
  if ((sets ? in_size : out_size) < bytes) return r.fail(EINVAL);
  char value[sizeof(fsxattr)] = {};
  if (sets) memcpy(value, in, bytes);
  int error;
  {
    // Some of these flags require the right to exceed limits (CAP_SYS_RESOURCE).
    CallerScope as_caller(r.caller, CallerScope::kBeyondLimits, {h->fd});
    error = ::ioctl(h->fd, command, value) == 0 ? 0 : errno;
  }
  if (error != 0) return r.fail(error);
  r.end(0);
  fuse_reply_ioctl(req, 0, sets ? nullptr : value, sets ? 0 : bytes);
}

}  // namespace

void add_data_operations(fuse_lowlevel_ops& ops) {
  ops.read = uncancelled<read>;
  ops.write = uncancelled<write>;
  ops.copy_file_range = uncancelled<copy_file_range>;
  ops.fallocate = uncancelled<fallocate>;
  ops.lseek = uncancelled<lseek>;
  ops.fsync = uncancelled<fsync>;
  ops.ioctl = uncancelled<ioctl>;
}

}  // namespace fsr::shim
