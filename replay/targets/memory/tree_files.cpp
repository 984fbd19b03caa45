// SPDX-License-Identifier: Apache-2.0
// Memory target: operations on the content, attributes and locks of files.
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "clone.hpp"
#include "node.hpp"
#include "tree.hpp"
#include "util/check.hpp"
#include "util/clock_ns.hpp"

namespace fsr {

constexpr uint64_t kMaxOffset = std::numeric_limits<int64_t>::max();
constexpr uint64_t kMaxTransfer = 0x7ffff000;  // bytes of one call, as in the kernel

template <class Change>
void MemoryTree::change_data(Node& node, Change change) {
  used_ -= node.data.allocated();
  change(node.data);
  used_ += node.data.allocated();
  node.touch(true);
}

int MemoryTree::open(Context& c, bool as_directory) {
  NodePtr node = find(c.op.object);
  if (!node) return ESTALE;
  if (as_directory || (c.op.open_flags & O_DIRECTORY)) {
    if (!node->is_dir()) return ENOTDIR;
  } else if (S_ISLNK(node->attr.mode)) {
    return ELOOP;
  }
  if (node->is_dir() && (c.op.open_flags & O_ACCMODE) != O_RDONLY) return EISDIR;
  if ((c.op.open_flags & O_TRUNC) && node->is_file()) change_data(*node, [](FileData& data) { data.truncate(0); });
  open_node(c.op.handle, node, c.op.open_flags);
  return 0;
}

int MemoryTree::release(Context& c) {
  auto it = opens_.find(c.op.handle);
  if (it == opens_.end()) return EBADF;
  NodePtr node = it->second.node;
  opens_.erase(it);
  FSR_CHECK(node->opens > 0, "a file is closed more often than it was opened");
  --node->opens;
  if (node->locks) node->locks->close(c.op.handle);
  c.released = true;
  unlinked(node);
  return 0;
}

int MemoryTree::flush(Context& c) {
  Open* opened = find_open(c.op.handle);
  if (!opened) return EBADF;
  if (c.op.owner) {
    if (opened->node->locks) opened->node->locks->clear(c.op.owner, 0, std::numeric_limits<uint64_t>::max());
    c.released = true;
  }
  return 0;
}

int MemoryTree::setattr(Context& c) {
  NodePtr node;
  if (int error = subject(c.op, &node)) return error;
  const Attr none, &set = c.op.set ? *c.op.set : none;
  if (set.valid & kAttrSize) {
    if (node->is_dir()) return EISDIR;
    if (!node->is_file() || set.size > kMaxOffset) return EINVAL;
    change_data(*node, [&](FileData& data) { data.truncate(set.size); });
  }
  Attr& attr = node->attr;
  if (set.valid & kAttrMode) attr.mode = (attr.mode & S_IFMT) | (set.mode & 07777);
  if (set.valid & kAttrUid) attr.uid = set.uid;
  if (set.valid & kAttrGid) attr.gid = set.gid;
  if (set.valid & kAttrAtime) attr.atime = (set.valid & kAttrAtimeNow) ? clock_ns(CLOCK_REALTIME) : set.atime;
  if (set.valid & kAttrMtime) attr.mtime = (set.valid & kAttrMtimeNow) ? clock_ns(CLOCK_REALTIME) : set.mtime;
  if (set.valid & kAttrAtimeNow) attr.atime = clock_ns(CLOCK_REALTIME);
  if (set.valid & kAttrMtimeNow) attr.mtime = clock_ns(CLOCK_REALTIME);
  node->touch(false);
  reply_attr(*node, c.outcome);
  return 0;
}

int MemoryTree::read(Context& c) {
  NodePtr node;
  if (int error = subject(c.op, &node)) return error;
  if (node->is_dir()) return EISDIR;
  if (c.op.offset > kMaxOffset) return EINVAL;
  c.reply.data.clear();
  node->data.read(c.op.offset, std::min(c.op.length, kMaxTransfer), c.reply.data);
  c.outcome.data = c.reply.data;
  c.outcome.result = c.reply.data.size();
  return 0;
}

int MemoryTree::write(Context& c) {
  NodePtr node;
  if (int error = subject(c.op, &node)) return error;
  if (node->is_dir()) return EISDIR;
  if (c.op.offset > kMaxOffset) return EINVAL;
  uint64_t offset = c.op.has(kOpAppend) ? node->data.size() : c.op.offset;
  std::string_view bytes = c.payload.substr(0, std::min(c.op.length, kMaxTransfer));
  if (bytes.size() > kMaxOffset - offset) return EFBIG;
  if (used_ + bytes.size() > limit_) return ENOSPC;
  change_data(*node, [&](FileData& data) { data.write(offset, bytes); });
  c.outcome.result = bytes.size();
  return 0;
}

// Calls `act(from, bytes)` for each piece of data between holes in the range, a few MiB at most. `act` may change the file
// elsewhere.
template <class Act>
static void each_piece(const FileData& data, uint64_t offset, uint64_t length, Act act) {
  constexpr uint64_t kPiece = 1 << 20;
  const uint64_t end = offset + length;
  for (uint64_t at, hole; data.seek_data(offset, &at) && at < end; offset = hole) {
    if (!data.seek_hole(at, &hole)) hole = end;
    hole = std::min(hole, end);
    for (; at < hole; at += std::min(kPiece, hole - at)) act(at, std::min(kPiece, hole - at));
  }
}

static uint64_t data_bytes(const FileData& data, uint64_t offset, uint64_t length) {
  uint64_t bytes = 0;
  each_piece(data, offset, length, [&](uint64_t, uint64_t piece) { bytes += piece; });
  return bytes;
}

// Holes stay holes, as the files share blocks after a clone. So a large sparse file takes no memory.
static void clone_range(const FileData& from, uint64_t offset, uint64_t length, FileData& to, uint64_t at) {
  to.punch(at, length);
  if (length > 0 && to.size() < at + length) to.truncate(at + length);
  each_piece(from, offset, length, [&](uint64_t piece, uint64_t bytes) {
    std::string data;
    from.read(piece, bytes, data);
    to.write(at + (piece - offset), data);
  });
}

int MemoryTree::copy_range(Context& c) {
  // Without a handle, as in traces of stateless protocols, the object is used.
  const Open *in = find_open(c.op.handle), *out = find_open(c.op.handle2);
  if ((c.op.handle && (!in || !in->readable)) || (c.op.handle2 && (!out || !out->writable))) return EBADF;
  const NodePtr from = in ? in->node : find(c.op.object), to = out ? out->node : find(c.op.object2);
  if (!from || !to) return ESTALE;
  if (from->is_dir() || to->is_dir()) return EISDIR;
  const bool clone = is_clone(c.op);
  if (!from->is_file() || !to->is_file() || (c.op.flags && !clone)) return EINVAL;
  if (c.op.offset > kMaxOffset || c.op.offset2 > kMaxOffset) return EINVAL;
  uint64_t length = std::min({c.op.length, kMaxTransfer, kMaxOffset - c.op.offset, kMaxOffset - c.op.offset2});
  if (clone) {  // all bytes or none
    const uint64_t there = from->data.size() - std::min<uint64_t>(from->data.size(), c.op.offset);
    length = c.op.length ? c.op.length : there;
    if (length > there || length > kMaxOffset - c.op.offset2) return EINVAL;
  }
  if (from == to && c.op.offset < c.op.offset2 + length && c.op.offset2 < c.op.offset + length) return EINVAL;
  uint64_t size = from->data.size();
  length = std::min(length, size > c.op.offset ? size - c.op.offset : 0);
  if (clone) {
    if (used_ + data_bytes(from->data, c.op.offset, length) > limit_) return ENOSPC;
    change_data(*to, [&](FileData& data) { clone_range(from->data, c.op.offset, length, data, c.op.offset2); });
    c.outcome.result = c.op.length;
    return 0;
  }
  if (used_ + length > limit_) return ENOSPC;
  std::string bytes;
  from->data.read(c.op.offset, length, bytes);
  if (!bytes.empty()) change_data(*to, [&](FileData& data) { data.write(c.op.offset2, bytes); });
  c.outcome.result = bytes.size();
  return 0;
}

int MemoryTree::fallocate(Context& c) {
  NodePtr node;
  if (int error = subject(c.op, &node)) return error;
  uint64_t offset = c.op.offset, length = c.op.length, size = node->data.size();
  uint32_t mode = c.op.mode, rest = mode & ~uint32_t(FALLOC_FL_KEEP_SIZE);
  if (!node->is_file()) return node->is_dir() ? EISDIR : ENODEV;
  if (length == 0 || offset > kMaxOffset || length > kMaxOffset) return EINVAL;
  if (length > kMaxOffset - offset) return EFBIG;
  if (c.op.error == EOPNOTSUPP)
    return EOPNOTSUPP;  // as on the captured file system, because file systems support different modes
  bool keep = (mode & FALLOC_FL_KEEP_SIZE) != 0;
  bool aligned = offset % FileData::kChunk == 0 && length % FileData::kChunk == 0;
  if (rest == FALLOC_FL_PUNCH_HOLE && !keep) return EOPNOTSUPP;
  if (rest == FALLOC_FL_COLLAPSE_RANGE || rest == FALLOC_FL_INSERT_RANGE) {
    if (keep || !aligned) return EINVAL;
    if (rest == FALLOC_FL_COLLAPSE_RANGE ? offset + length >= size : offset >= size) return EINVAL;
    if (rest == FALLOC_FL_INSERT_RANGE && length > kMaxOffset - size) return EFBIG;
    change_data(*node, [&](FileData& data) {
      if (rest == FALLOC_FL_COLLAPSE_RANGE)
        data.shift(offset + length, offset);
      else
        data.shift(offset, offset + length);
    });
    return 0;
  }
  if (rest != 0 && rest != FALLOC_FL_PUNCH_HOLE && rest != FALLOC_FL_ZERO_RANGE) return EOPNOTSUPP;
  change_data(*node, [&](FileData& data) {
    if (rest) data.punch(offset, length);
    if (!keep && offset + length > data.size()) data.truncate(offset + length);
  });
  return 0;
}

int MemoryTree::seek(Context& c) {
  NodePtr node;
  if (int error = subject(c.op, &node)) return error;
  if (c.op.mode != SEEK_DATA && c.op.mode != SEEK_HOLE) return EINVAL;
  uint64_t found = 0;
  bool any = c.op.mode == SEEK_DATA ? node->data.seek_data(c.op.offset, &found) : node->data.seek_hole(c.op.offset, &found);
  if (!any) return ENXIO;
  c.outcome.result = found;
  return 0;
}

int MemoryTree::lock(Context& c) {
  const Op& op = c.op;
  NodePtr node;
  if (int error = subject(op, &node)) return error;
  if (op.offset > kMaxOffset) return EINVAL;
  const uint64_t end = last_locked(op);
  if (op.mode == F_UNLCK) {
    if (op.kind == OpKind::getlk) return EINVAL;
    node->lock_table().clear(op.owner, op.offset, end);
    c.released = true;
    return 0;
  }
  if (op.mode != F_RDLCK && op.mode != F_WRLCK) return EINVAL;
  bool exclusive = op.mode == F_WRLCK;
  // A conflicting lock is a result of getlk, not an error.
  if (op.kind == OpKind::getlk) return 0;
  return node->lock_table().set(op.owner, op.offset, end, exclusive, op.handle);
}

int MemoryTree::flock(Context& c) {
  Open* opened = find_open(c.op.handle);
  if (!opened) return EBADF;
  LockTable& locks = opened->node->lock_table();
  switch (c.op.mode & ~unsigned(LOCK_NB)) {
    case LOCK_UN:
      locks.clear_flock(c.op.handle);
      c.released = true;
      return 0;
    case LOCK_SH:
    case LOCK_EX: {
      const int error = locks.set_flock(c.op.handle, (c.op.mode & LOCK_EX) != 0);
      // As on Linux, a lock that can't be converted is released.
      if (error) c.released = locks.clear_flock(c.op.handle);
      return error;
    }
    default:
      return EINVAL;
  }
}

}  // namespace fsr
