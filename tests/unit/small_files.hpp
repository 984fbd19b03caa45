// SPDX-License-Identifier: Apache-2.0
// A model of a small file system with permissions, which predicts the outcome of an operation. It is seen by one user, who owns
// everything and is not root. It has directories, files, links, listings, modes, access lists, extended attributes, locks and
// sizes, as far as tests of order need them.
#pragma once

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/lock_table.hpp"
#include "op.hpp"

namespace fsr {

class SmallFiles {
 public:
  struct Node {
    ObjectId id = kNoObject;
    bool directory = false;
    uint32_t mode = 0;
    std::optional<uint32_t> list, inherited;  // access list and default access list: rights of the user, as a mode
    unsigned names = 1, opens = 0;
    bool unnamed = false;  // true: made without a name, so that it may get one
    bool lost = false;     // true: removed with its last open instance
    uint64_t size = 0;
    bool attribute = false;
    LockTable locks;
    std::map<std::string, std::shared_ptr<Node>, std::less<>> entries;
  };
  using NodeRef = std::shared_ptr<Node>;

  struct Result {
    int error = 0;
    uint64_t result = 0;
    bool created = false;
    NodeRef object, object2;  // objects that the operation found under its names
    std::set<std::string> names;
    bool operator==(const Result& other) const {
      return error == other.error && result == other.result && created == other.created && names == other.names;
    }
  };

  static constexpr uint64_t kListed = 1000;  // cookie of the end of a listing, if one call was enough
  static constexpr std::string_view kAccessList = "system.posix_acl_access", kDefaultList = "system.posix_acl_default";

  // `root`: true: everything is permitted.
  explicit SmallFiles(bool root = false) : root_(root) {
    objects_[kRootObject] = std::make_shared<Node>(Node{.id = kRootObject, .directory = true, .mode = 0777});
  }

  // Executes an operation. `fresh`: id of the object that it makes. The error EBADFD means an id that no operation has taught.
  Result perform(const Op& op, ObjectId fresh);

 private:
  // Returns the user's rights. In an access list, they are limited by the mask, which is the mode of the group: here the mode
  // itself.
  static uint32_t rights(const Node& node) { return node.list ? *node.list & node.mode : node.mode; }
  bool may(const Node& node, unsigned want) const { return root_ || (rights(node) >> 6 & want) == want; }
  // Returns the access list of that name. Null: the attribute is an ordinary one.
  static std::optional<uint32_t>* access_list(Node& node, std::string_view name) {
    return name == kAccessList ? &node.list : name == kDefaultList ? &node.inherited : nullptr;
  }
  NodeRef find(ObjectId id) const {
    auto it = objects_.find(id);
    return it == objects_.end() ? nullptr : it->second;
  }
  static NodeRef entry(const NodeRef& parent, std::string_view name) {
    auto it = parent->entries.find(name);
    return it == parent->entries.end() ? nullptr : it->second;
  }
  // Stores the directory in `out`, and returns 0 or an errno. `want`: required permissions.
  int directory(ObjectId id, unsigned want, NodeRef* out) const {
    *out = find(id);
    if (!*out) return EBADFD;
    if (!(*out)->directory) return ENOTDIR;
    if (!may(**out, want)) return EACCES;
    return (*out)->names ? 0 : ENOENT;
  }
  void add_open(HandleId handle, const NodeRef& node) {
    if (handle) opens_[handle] = node, ++node->opens;
  }
  NodeRef make(const Op& op, ObjectId fresh, const NodeRef& parent, bool directory) {
    auto node = std::make_shared<Node>(Node{.id = fresh, .directory = directory, .mode = op.mode & 0777});
    node->list = parent->inherited;
    if (directory) node->inherited = parent->inherited;
    parent->entries.emplace(op.name, node);
    objects_[fresh] = node;
    return node;
  }
  int open(const Op& op, const NodeRef& node);
  int rename(const Op& op, Result* out);
  int on_name(const Op& op, ObjectId fresh, Result* out);
  int on_object(const Op& op, Result* out);
  int on_attribute(const Op& op, Node& node, Result* out);
  static int lock(const Op& op, LockTable& locks);

  const bool root_;
  std::map<ObjectId, NodeRef> objects_;
  std::map<HandleId, NodeRef> opens_;
};

inline SmallFiles::Result SmallFiles::perform(const Op& op, ObjectId fresh) {
  Result out;
  out.error = op.kind == OpKind::rename ? rename(op, &out) : op.parent ? on_name(op, fresh, &out) : on_object(op, &out);
  return out;
}

inline int SmallFiles::open(const Op& op, const NodeRef& node) {
  const unsigned want = (op.open_flags & O_ACCMODE) == O_RDONLY ? R_OK : W_OK;
  if (node->directory && want == W_OK) return EISDIR;
  if (!may(*node, want)) return EACCES;
  if (op.open_flags & O_TRUNC) node->size = 0;
  add_open(op.handle, node);
  return 0;
}

inline int SmallFiles::on_name(const Op& op, ObjectId fresh, Result* out) {
  NodeRef parent;
  if (int error = directory(op.parent, X_OK, &parent)) return error;
  NodeRef node = out->object = entry(parent, op.name);
  switch (op.kind) {
    case OpKind::lookup:
      if (!node) return ENOENT;
      objects_[op.object ? op.object : node->id] = node;
      return 0;
    case OpKind::create:
      if (node && (op.open_flags & O_EXCL)) return EEXIST;
      if (node && node->directory) return EISDIR;
      if (node) {
        objects_[op.object ? op.object : node->id] = node;
        return open(op, node);
      }
      [[fallthrough]];
    case OpKind::mkdir:
      if (node) return EEXIST;
      if (!may(*parent, W_OK)) return EACCES;
      out->object = make(op, fresh, parent, op.kind == OpKind::mkdir);
      out->created = true;
      add_open(op.handle, out->object);
      return 0;
    case OpKind::tmpfile:
      if (!may(*parent, W_OK)) return EACCES;
      out->object = objects_[fresh] =
          std::make_shared<Node>(Node{.id = fresh, .mode = op.mode & 0777, .names = 0, .unnamed = true});
      add_open(op.handle, out->object);
      return 0;
    case OpKind::unlink:
    case OpKind::rmdir:
      if (!node) return ENOENT;
      if (!may(*parent, W_OK)) return EACCES;
      if (node->directory != (op.kind == OpKind::rmdir)) return node->directory ? EISDIR : ENOTDIR;
      if (!node->entries.empty()) return ENOTEMPTY;
      parent->entries.erase(parent->entries.find(op.name));
      --node->names;
      return 0;
    default:
      return EOPNOTSUPP;
  }
}

inline int SmallFiles::rename(const Op& op, Result* out) {
  NodeRef from, to;
  if (int error = directory(op.parent, X_OK, &from)) return error;
  if (int error = directory(op.parent2, X_OK, &to)) return error;
  NodeRef moved = out->object = entry(from, op.name), there = out->object2 = entry(to, op.name2);
  if (!moved) return ENOENT;
  if (there && (op.flags & RENAME_NOREPLACE)) return EEXIST;
  if (!there && (op.flags & RENAME_EXCHANGE)) return ENOENT;
  if (!may(*from, W_OK) || !may(*to, W_OK)) return EACCES;
  if (moved == there) return 0;
  auto below = [](const Node& top, const NodeRef& what, auto& self) -> bool {
    for (const auto& [name, node] : top.entries)
      if (node == what || self(*node, what, self)) return true;
    return false;
  };
  if (moved == to || below(*moved, to, below)) return EINVAL;
  // A directory that gets another parent is written to, so write permission is required.
  auto stuck = [&](const NodeRef& node) { return node && node->directory && from != to && !may(*node, W_OK); };
  if (stuck(moved) || ((op.flags & RENAME_EXCHANGE) && stuck(there))) return EACCES;
  if (there && (there == from || below(*there, from, below))) return op.flags & RENAME_EXCHANGE ? EINVAL : ENOTEMPTY;
  if (op.flags & RENAME_EXCHANGE) {
    std::swap(from->entries.find(op.name)->second, to->entries.find(op.name2)->second);
    return 0;
  }
  if (there) {
    if (moved->directory != there->directory) return moved->directory ? ENOTDIR : EISDIR;
    if (!there->entries.empty()) return ENOTEMPTY;
    --there->names;
  }
  from->entries.erase(from->entries.find(op.name));
  to->entries.insert_or_assign(std::string(op.name2), moved);
  return 0;
}

inline int SmallFiles::on_object(const Op& op, Result* out) {
  NodeRef node = find(op.object);
  if (op.handle && op.kind != OpKind::open && op.kind != OpKind::opendir) {
    auto it = opens_.find(op.handle);
    if (it == opens_.end()) return EBADFD;
    node = it->second;
  }
  if (!node) return EBADFD;
  if (node->lost) return ESTALE;
  out->object = node;
  switch (op.kind) {
    case OpKind::link: {
      NodeRef to;
      if (int error = directory(op.parent2, X_OK, &to)) return error;
      if (entry(to, op.name2)) return EEXIST;
      if (!may(*to, W_OK)) return EACCES;
      if (node->directory) return EPERM;
      if (!node->names && !(node->unnamed && node->opens)) return ENOENT;
      node->unnamed = false;
      to->entries.emplace(op.name2, node);
      ++node->names;
      return 0;
    }
    case OpKind::open:
      return open(op, node);
    case OpKind::opendir:
      if (!node->directory) return ENOTDIR;
      if (!may(*node, R_OK)) return EACCES;
      add_open(op.handle, node);
      return 0;
    case OpKind::readdir:
      if (!node->names) return ENOENT;
      if (op.offset == kListed) return 0;
      for (const auto& [name, child] : node->entries) out->names.insert(name);
      return 0;
    case OpKind::statfs:
      return 0;
    case OpKind::access:
      // If no user may execute a file, root may not either.
      return may(*node, op.mode) && (node->directory || !(op.mode & X_OK) || (node->mode & 0111)) ? 0 : EACCES;
    case OpKind::setattr:
      if (op.set->valid & kAttrMode) node->mode = op.set->mode;
      if (op.set->valid & kAttrSize) node->size = op.set->size;
      return 0;
    case OpKind::setxattr:
    case OpKind::getxattr:
    case OpKind::removexattr:
      return on_attribute(op, *node, out);
    case OpKind::getattr:
      out->result = node->directory ? 0 : node->names;
      return 0;
    case OpKind::setlk:
    case OpKind::flock:
    case OpKind::flush:
      return lock(op, node->locks);
    case OpKind::release:
      node->locks.close(op.handle);
      [[fallthrough]];
    case OpKind::releasedir:
      opens_.erase(op.handle);
      node->lost = --node->opens == 0 && !node->names && !node->directory;
      return 0;
    default:
      return EOPNOTSUPP;
  }
}

// A lock request never waits here, but fails with EAGAIN.
inline int SmallFiles::lock(const Op& op, LockTable& locks) {
  if (op.kind == OpKind::flush) {
    locks.clear(op.owner, 0, UINT64_MAX);
    return 0;
  }
  if (op.kind == OpKind::flock) {
    const int error = op.mode == LOCK_UN ? 0 : locks.set_flock(op.handle, op.mode == LOCK_EX);
    if (error || op.mode == LOCK_UN) locks.clear_flock(op.handle);
    return error;
  }
  if (op.mode != F_UNLCK) return locks.set(op.owner, op.offset, last_locked(op), op.mode == F_WRLCK, op.handle);
  locks.clear(op.owner, op.offset, last_locked(op));
  return 0;
}

// The operation's mode has the value to which an access list is set.
inline int SmallFiles::on_attribute(const Op& op, Node& node, Result* out) {
  std::optional<uint32_t>* list = access_list(node, op.name);
  if (list == &node.inherited && !node.directory && op.kind == OpKind::setxattr) return EACCES;
  const bool there = list ? list->has_value() : node.attribute;
  if (op.kind == OpKind::setxattr) {
    if (there && !list && (op.flags & XATTR_CREATE)) return EEXIST;
    if (list)
      *list = op.mode;
    else
      node.attribute = true;
    return 0;
  }
  if (!there) return list && op.kind == OpKind::removexattr ? 0 : ENODATA;
  if (op.kind == OpKind::getxattr) {
    if (list) out->result = list == &node.list ? rights(node) : **list;
  } else if (list) {
    list->reset();
  } else {
    node.attribute = false;
  }
  return 0;
}

}  // namespace fsr
