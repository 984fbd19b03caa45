// SPDX-License-Identifier: Apache-2.0
#include "tree.hpp"

#include <fcntl.h>

#include <cerrno>

#include "node.hpp"
#include "util/clock_ns.hpp"

namespace fsr {

void MemoryTree::Node::touch(bool content) {
  attr.ctime = clock_ns(CLOCK_REALTIME);
  if (content) attr.mtime = attr.ctime;
}

MemoryTree::MemoryTree(uint64_t limit_bytes) : limit_(limit_bytes) {
  auto root = std::make_shared<Node>();
  root->ino = last_ino_ = kRootObject;
  root->attr.mode = S_IFDIR | 0755;
  root->attr.nlink = 2;
  root->attr.atime = root->attr.mtime = root->attr.ctime = root->attr.btime = clock_ns(CLOCK_REALTIME);
  map_id(kRootObject, root);
}

MemoryTree::~MemoryTree() = default;

bool MemoryTree::perform(const Op& op, std::string_view payload, Credentials who, Outcome& outcome, Reply& reply) {
  std::lock_guard lock(mutex_);
  Context c{op, payload, who, outcome, reply};
  outcome.error = dispatch(c);
  return c.released;
}

int MemoryTree::dispatch(Context& c) {
  NodePtr node;
  switch (c.op.kind) {
    case OpKind::null:
    case OpKind::statfs:
    case OpKind::syncfs:
      return 0;
    case OpKind::lookup:
      return lookup(c);
    case OpKind::getattr:
    case OpKind::statx:
      if (int error = subject(c.op, &node)) return error;
      reply_attr(*node, c.outcome);
      return 0;
    case OpKind::access:
      if (int error = subject(c.op, &node)) return error;
      // The user is not considered. Even root can only execute a file with an execute bit.
      return (c.op.mode & X_OK) && !node->is_dir() && !(node->attr.mode & 0111) ? EACCES : 0;
    case OpKind::fsync:
    case OpKind::fsyncdir:
      return subject(c.op, &node);
    case OpKind::setattr:
      return setattr(c);
    case OpKind::readlink:
      if (int error = subject(c.op, &node)) return error;
      if (!S_ISLNK(node->attr.mode)) return EINVAL;
      c.reply.data = node->target;
      c.outcome.data = c.reply.data;
      c.outcome.result = c.reply.data.size();
      return 0;
    case OpKind::open:
      return open(c, false);
    case OpKind::opendir:
      return open(c, true);
    case OpKind::create:
      return create(c);
    case OpKind::tmpfile:
      return tmpfile(c);
    case OpKind::read:
      return read(c);
    case OpKind::write:
      return write(c);
    case OpKind::copy_file_range:
      return copy_range(c);
    case OpKind::fallocate:
      return fallocate(c);
    case OpKind::lseek:
      return seek(c);
    case OpKind::flush:
      return flush(c);
    case OpKind::release:
    case OpKind::releasedir:
      return release(c);
    case OpKind::readdir:
    case OpKind::readdirplus:
      return readdir(c);
    case OpKind::mkdir:
      return make(c, S_IFDIR | (c.op.mode & 07777), &node);
    case OpKind::mknod:
      if (S_ISDIR(c.op.mode)) return EPERM;
      return make(c, (c.op.mode & S_IFMT) ? c.op.mode : S_IFREG | c.op.mode, &node);
    case OpKind::symlink:
      return symlink(c);
    case OpKind::link:
      return link(c);
    case OpKind::unlink:
      return remove(c, false);
    case OpKind::rmdir:
      return remove(c, true);
    case OpKind::rename:
      return rename(c);
    case OpKind::getxattr:
      return getxattr(c);
    case OpKind::setxattr:
      return setxattr(c);
    case OpKind::listxattr:
      return listxattr(c);
    case OpKind::removexattr:
      return removexattr(c);
    case OpKind::getlk:
    case OpKind::setlk:
      return lock(c);
    case OpKind::flock:
      return flock(c);
    case OpKind::ioctl:
      if (int error = subject(c.op, &node)) return error;
      return ENOTTY;
  }
  return EOPNOTSUPP;
}

MemoryTree::NodePtr MemoryTree::find(ObjectId id) const {
  auto it = objects_.find(id);
  return it == objects_.end() ? nullptr : it->second;
}

MemoryTree::Open* MemoryTree::find_open(HandleId id) {
  auto it = opens_.find(id);
  return it == opens_.end() ? nullptr : &it->second;
}

int MemoryTree::subject(const Op& op, NodePtr* node) {
  if (op.handle) {
    Open* opened = find_open(op.handle);
    if (opened) return *node = opened->node, 0;
    if (!op.object) return EBADF;
  }
  *node = find(op.object);
  return *node ? 0 : ESTALE;
}

int MemoryTree::directory(ObjectId id, NodePtr* node) const {
  *node = find(id);
  if (!*node) return ESTALE;
  return (*node)->is_dir() ? 0 : ENOTDIR;
}

void MemoryTree::map_id(ObjectId id, const NodePtr& node) {
  if (id == kNoObject) return;
  NodePtr& known = objects_[id];
  if (known == node) return;
  known = node;
  node->ids.push_back(id);
}

// Keeps the objects that were removed last, because one may still be a process's working directory or the result of a recent
// lookup. Their number is the operations that a run as fast as possible reads ahead, all of which may be removals.
void MemoryTree::unlinked(const NodePtr& node) {
  if (node->attr.nlink > 0 || node->opens > 0) return;
  used_ -= node->data.allocated();
  node->data.truncate(0);
  constexpr size_t kRemembered = 4096;
  removed_.push_back(node);
  if (removed_.size() <= kRemembered) return;
  NodePtr oldest = std::move(removed_.front());
  removed_.pop_front();
  if (oldest->attr.nlink > 0 || oldest->opens > 0) return;
  for (ObjectId id : oldest->ids)
    if (auto it = objects_.find(id); it != objects_.end() && it->second == oldest) objects_.erase(it);
}

MemoryTree::NodePtr MemoryTree::new_node(Context& c, uint32_t mode) {
  auto node = std::make_shared<Node>();
  node->ino = ++last_ino_;
  node->attr.mode = mode;
  node->attr.uid = c.who.uid;
  node->attr.gid = c.who.gid;
  node->attr.nlink = S_ISDIR(mode) ? 2 : 1;
  node->attr.atime = node->attr.mtime = node->attr.ctime = node->attr.btime = clock_ns(CLOCK_REALTIME);
  return node;
}

void MemoryTree::open_node(HandleId handle, const NodePtr& node, uint32_t open_flags) {
  if (!handle) return;  // no open instance was recorded
  ++node->opens;
  uint32_t access = open_flags & O_ACCMODE;
  Open& opened = opens_[handle];
  opened.node = node;
  opened.readable = access != O_WRONLY;
  opened.writable = access != O_RDONLY;
}

void MemoryTree::reply_attr(const Node& node, Outcome& outcome) const {
  outcome.attr = node.attr;
  outcome.attr.valid = kAttrMode | kAttrUid | kAttrGid | kAttrSize | kAttrNlink | kAttrAtime | kAttrMtime | kAttrCtime |
                       kAttrBlocks | kAttrRdev | kAttrBtime;
  outcome.attr.size = node.is_file() ? node.data.size() : node.is_dir() ? FileData::kChunk : node.target.size();
  outcome.attr.blocks = node.data.allocated() / 512;
}

Space MemoryTree::space() {
  std::lock_guard lock(mutex_);
  return {limit_, limit_ > used_ ? limit_ - used_ : 0};
}

bool MemoryTree::empty() {
  std::lock_guard lock(mutex_);
  return objects_.at(kRootObject)->entries.empty();
}

}  // namespace fsr
