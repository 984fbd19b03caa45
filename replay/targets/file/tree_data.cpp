// SPDX-License-Identifier: Apache-2.0
// Directory target: operations on the content of files.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>

#include "clone.hpp"
#include "credentials.hpp"
#include "direct_io.hpp"
#include "tree.hpp"

namespace fsr {

constexpr uint64_t kBlock = 64 << 10;  // O_DIRECT reads whole blocks, which are seldom larger

// Finds the open file of a handle. Without a handle, as in a trace of a stateless protocol, the object is opened for this call.
int FileTree::descriptor(const Op& op, HandleId handle, ObjectId object, int access, OpenRef* open) {
  if (handle) return objects_.opened(handle, open);
  if (past_cache_ && (*open = objects_.any_open(object))) return 0;  // opening it would be a request to the server
  PathAt at;
  if (int error = objects_.path_at(object, &at)) return error;
  if (at.open) return *open = at.open, 0;
  if (!S_ISREG(at.type) && !S_ISDIR(at.type)) return EINVAL;
  if (S_ISDIR(at.type)) access = O_RDONLY;
  int fd = at.is_fd() ? ::open(proc_path(at.fd()).data(), access | O_CLOEXEC)
                      : open_here(at.fd(), at.name.c_str(), access | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno;
  *open = std::make_shared<OpenFile>();
  (*open)->fd = UniqueFd(fd);
  (*open)->object = object;
  direct_left_out_ += direct_;
  return 0;
}

// Bytes that read(2) transfers at most. Otherwise a hostile trace could make the target read a sparse file for hours.
constexpr uint64_t kMostPerCall = 0x7ffff000;

// True: the request can keep O_DIRECT. An append can't, because the end of the file may be at any offset.
bool FileTree::whole_blocks(const OpenFile& open, const Op& op) {
  if (!open.block) return true;
  const bool whole = !op.has(kOpAppend) && ((op.offset | op.length) & (open.block - 1)) == 0;
  unaligned_ += !whole;
  return whole;
}

// Turns O_DIRECT off for the rest of a request that it refused and that succeeded in the capture. The application had turned it
// off by then with fcntl(2), as dd does for the last bytes. True: the request is to be made again.
bool FileTree::without_direct(const Op& op, OpenFile& open, std::optional<DirectGuard>& guard) {
  if (errno != EINVAL || op.error || !open.direct || guard->turned_off()) return false;
  guard.emplace(open, false);
  unaligned_ += guard->turned_off();
  return guard->turned_off();
}

int FileTree::read(Context& c) {
  ActAs act(c.who);
  OpenRef open;
  if (int error = descriptor(c.op, c.op.handle, c.op.object, O_RDONLY, &open)) return error;
  std::optional<DirectGuard> guard(std::in_place, *open, whole_blocks(*open, c.op));
  uint64_t length = std::min(c.op.length, kMostPerCall);
  struct stat st;
  // Limit the memory to what the rest of the file needs, whatever length the trace has.
  if (length > kPiece && fstat(open->fd.get(), &st) == 0) {
    uint64_t left = uint64_t(st.st_size) > c.op.offset ? uint64_t(st.st_size) - c.op.offset : 0;
    length = std::min(length, std::max<uint64_t>((left + kBlock - 1) & ~(kBlock - 1), kPiece));
  }
  bool whole = c.request.want_data && length <= (1u << 30);
  char* buffer = c.reply.data.need(whole ? size_t(length) : size_t(std::min<uint64_t>(length, kPiece)));
  if (!buffer && length > 0) return ENOMEM;
  uint64_t done = 0;
  do {
    size_t piece = size_t(std::min<uint64_t>(length - done, kPiece));
    ssize_t n = pread(open->fd.get(), buffer + (whole ? done : 0), piece, off_t(c.op.offset + done));
    if (n < 0 && without_direct(c.op, *open, guard)) continue;
    if (n < 0 && done == 0) return errno;
    if (n > 0) done += uint64_t(n);
    if (n < ssize_t(piece)) break;
  } while (done < length);
  c.request.outcome.result = done;
  if (whole) c.request.outcome.data = {buffer, size_t(done)};
  return 0;
}

int FileTree::write(Context& c) {
  ActAs act(c.who);
  OpenRef open;
  if (int error = descriptor(c.op, c.op.handle, c.op.object, O_WRONLY, &open)) return error;
  const char* bytes = c.request.payload.data();
  std::optional<DirectGuard> guard(std::in_place, *open, whole_blocks(*open, c.op));
  size_t length = std::min<size_t>(c.request.payload.size(), c.op.length);
  if (open->direct) {
    char* aligned = c.reply.data.need(length);
    if (!aligned && length > 0) return ENOMEM;
    if (length > 0) bytes = static_cast<char*>(memcpy(aligned, bytes, length));
  }
  iovec part{.iov_base = const_cast<char*>(bytes), .iov_len = length};
  auto attempt = [&] { return pwritev2(open->fd.get(), &part, 1, off_t(c.op.offset), c.op.has(kOpAppend) ? RWF_APPEND : 0); };
  ssize_t n = attempt();
  if (n < 0 && without_direct(c.op, *open, guard)) n = attempt();
  if (n < 0) return errno;
  c.request.outcome.result = uint64_t(n);
  return 0;
}

int FileTree::copy_range(Context& c) {
  ActAs act(c.who);
  OpenRef in, out;
  if (int error = descriptor(c.op, c.op.handle, c.op.object, O_RDONLY, &in)) return error;
  if (int error = descriptor(c.op, c.op.handle2, c.op.object2, O_WRONLY, &out)) return error;
  // A copy goes through the page cache if O_DIRECT was added. The files are locked in the order of their addresses, so that two
  // copies can't deadlock.
  std::optional<DirectGuard> guards[2];
  unaligned_ += in->block || out->block;
  if (in->block || out->block) {
    guards[0].emplace(in < out ? *in : *out, false);
    if (in != out) guards[1].emplace(in < out ? *out : *in, false);
  }
  if (is_clone(c.op)) {
    file_clone_range range{
        .src_fd = in->fd.get(), .src_offset = c.op.offset, .src_length = c.op.length, .dest_offset = c.op.offset2};
    if (::ioctl(out->fd.get(), FICLONERANGE, &range) != 0) return errno;
    c.request.outcome.result = c.op.length;
    return 0;
  }
  auto from = off_t(c.op.offset), to = off_t(c.op.offset2);
  ssize_t n =
      copy_file_range(in->fd.get(), &from, out->fd.get(), &to, size_t(std::min<uint64_t>(c.op.length, SSIZE_MAX)), c.op.flags);
  if (n < 0) return errno;
  c.request.outcome.result = uint64_t(n);
  return 0;
}

int FileTree::on_descriptor(Context& c) {
  const Op& op = c.op;
  if (op.kind == OpKind::syncfs) return syncfs(objects_.root()) == 0 ? 0 : errno;
  if (op.kind == OpKind::statfs) {
    struct statfs fs;
    return fstatfs(objects_.root(), &fs) == 0 ? 0 : errno;
  }
  ActAs act(c.who);
  OpenRef open;
  if (int error = descriptor(op, op.handle, op.object, op.kind == OpKind::fallocate ? O_RDWR : O_RDONLY, &open)) return error;
  int fd = open->fd.get();
  switch (op.kind) {
    case OpKind::fallocate:
      return fallocate(fd, int(op.mode), off_t(op.offset), off_t(op.length)) == 0 ? 0 : errno;
    case OpKind::lseek: {
      if (op.mode != SEEK_DATA && op.mode != SEEK_HOLE) return EINVAL;
      off_t found = lseek(fd, off_t(op.offset), int(op.mode));
      if (found < 0) return errno;
      c.request.outcome.result = uint64_t(found);
      return 0;
    }
    case OpKind::flush: {
      if (op.owner) c.released = drop_owner(open->object, op.owner);
      int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);  // a file system flushes whenever any descriptor of the file is closed
      if (copy < 0) return errno;
      return close(copy) == 0 ? 0 : errno;
    }
    default:
      return ((op.flags & 1) ? fdatasync(fd) : fsync(fd)) == 0 ? 0 : errno;
  }
}

int FileTree::release(Context& c) {
  bool last = false;
  OpenRef open = objects_.remove_open(c.op.handle, &last);
  if (!open) return EBADF;
  c.released = true;
  drop_owners(open->object, c.op.handle, last);
  return 0;  // the descriptor closes with its last user
}

}  // namespace fsr
