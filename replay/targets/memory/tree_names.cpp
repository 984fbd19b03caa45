// SPDX-License-Identifier: Apache-2.0
// Memory target: operations on names and directories.
#include <fcntl.h>
#include <linux/fs.h>

#include <cerrno>
#include <climits>

#include "node.hpp"
#include "tree.hpp"

namespace fsr {

static int check_name(std::string_view name) {
  if (name.size() > NAME_MAX) return ENAMETOOLONG;
  return valid_component(name) ? 0 : EINVAL;
}

int MemoryTree::entry(Node& parent, std::string_view name, NodePtr* node) const {
  if (int error = check_name(name)) return error;
  auto it = parent.entries.find(name);
  if (it == parent.entries.end()) return ENOENT;
  *node = it->second.node;
  return 0;
}

void MemoryTree::set_entry(Node& parent, std::string_view name, const NodePtr& node) {
  const auto it = parent.entries.find(name);
  const bool there = it != parent.entries.end();
  if (there && it->second.node->is_dir()) --parent.attr.nlink;
  if (node && node->is_dir()) {
    node->parent = &parent;
    ++parent.attr.nlink;
  }
  if (node && there) {
    it->second.node = node;
  } else if (node) {
    parent.order.emplace(++parent.last_cookie, name);
    parent.entries.emplace(name, Node::Entry{node, parent.last_cookie});
  } else {
    parent.order.erase(it->second.cookie);
    parent.entries.erase(it);
  }
  parent.touch(true);
}

int MemoryTree::lookup(Context& c) {
  NodePtr parent, node;
  if (int error = directory(c.op.parent, &parent)) return error;
  if (int error = entry(*parent, c.op.name, &node)) return error;
  map_id(c.op.object, node);
  reply_attr(*node, c.outcome);
  return 0;
}

int MemoryTree::make(Context& c, uint32_t mode, NodePtr* made) {
  NodePtr parent;
  if (int error = directory(c.op.parent, &parent)) return error;
  int error = entry(*parent, c.op.name, made);
  if (error != ENOENT) return error ? error : EEXIST;
  if (parent->gone()) return ENOENT;
  *made = new_node(c, mode);
  if (S_ISCHR(mode) || S_ISBLK(mode)) (*made)->attr.rdev = c.op.flags;
  set_entry(*parent, c.op.name, *made);
  map_id(c.op.object, *made);
  reply_attr(**made, c.outcome);
  return 0;
}

int MemoryTree::create(Context& c) {
  NodePtr node;
  int error = make(c, S_IFREG | (c.op.mode & 07777), &node);
  if (error == EEXIST && !(c.op.open_flags & O_EXCL)) {
    if (node->is_dir()) return EISDIR;
    if (S_ISLNK(node->attr.mode)) return ELOOP;
    if ((c.op.open_flags & O_TRUNC) && node->is_file()) {
      used_ -= node->data.allocated();
      node->data.truncate(0);
      node->touch(true);
    }
    error = 0;
    map_id(c.op.object, node);
    reply_attr(*node, c.outcome);
  }
  if (error == 0) open_node(c.op.handle, node, c.op.open_flags);
  return error;
}

int MemoryTree::tmpfile(Context& c) {
  NodePtr parent;
  if (int error = directory(c.op.parent, &parent)) return error;
  if ((c.op.open_flags & O_ACCMODE) == O_RDONLY) return EINVAL;
  if (parent->gone()) return ENOENT;
  NodePtr node = new_node(c, S_IFREG | (c.op.mode & 07777));
  node->attr.nlink = 0;
  node->unnamed = true;
  map_id(c.op.object, node);
  open_node(c.op.handle, node, c.op.open_flags);
  reply_attr(*node, c.outcome);
  return 0;
}

int MemoryTree::symlink(Context& c) {
  if (c.op.data.empty()) return ENOENT;
  if (c.op.data.size() >= PATH_MAX) return ENAMETOOLONG;
  NodePtr node;
  if (int error = make(c, S_IFLNK | 0777, &node)) return error;
  node->target = c.op.data;
  reply_attr(*node, c.outcome);
  return 0;
}

int MemoryTree::link(Context& c) {
  NodePtr parent, there, node = find(c.op.object);
  if (!node) return ESTALE;
  if (int error = directory(c.op.parent2, &parent)) return error;
  int error = entry(*parent, c.op.name2, &there);
  if (error != ENOENT) return error ? error : EEXIST;
  if (parent->gone()) return ENOENT;
  if (node->is_dir()) return EPERM;
  // Only a file that was created without a name (O_TMPFILE) can get a first name, while it is open.
  if (node->gone() && (node->opens == 0 || !node->unnamed)) return ENOENT;
  set_entry(*parent, c.op.name2, node);
  node->unnamed = false;
  ++node->attr.nlink;
  node->touch(false);
  reply_attr(*node, c.outcome);
  return 0;
}

int MemoryTree::remove(Context& c, bool directories) {
  NodePtr parent, node;
  if (int error = directory(c.op.parent, &parent)) return error;
  if (int error = entry(*parent, c.op.name, &node)) return error;
  if (directories && !node->is_dir()) return ENOTDIR;
  if (!directories && node->is_dir()) return EISDIR;
  if (directories && !node->entries.empty()) return ENOTEMPTY;
  set_entry(*parent, c.op.name, nullptr);
  node->parent = nullptr;
  node->attr.nlink = directories ? 0 : node->attr.nlink - 1;
  node->touch(false);
  unlinked(node);
  return 0;
}

int MemoryTree::rename(Context& c) {
  const Op& op = c.op;
  bool exchange = (op.flags & RENAME_EXCHANGE) != 0, keep = (op.flags & RENAME_NOREPLACE) != 0;
  bool whiteout = (op.flags & RENAME_WHITEOUT) != 0;
  if ((op.flags & ~uint32_t(RENAME_EXCHANGE | RENAME_NOREPLACE | RENAME_WHITEOUT)) || (exchange && (keep || whiteout)))
    return EINVAL;
  NodePtr from, to, moved, replaced;
  if (int error = directory(op.parent, &from)) return error;
  if (int error = directory(op.parent2, &to)) return error;
  if (int error = entry(*from, op.name, &moved)) return error;
  if (int error = entry(*to, op.name2, &replaced); error && error != ENOENT) return error;
  if (to->gone()) return ENOENT;
  if (replaced && keep) return EEXIST;
  if (!replaced && exchange) return ENOENT;
  auto below = [](const Node* node, const Node* top) {
    while (node && node != top) node = node->parent;
    return node == top;
  };
  if (moved->is_dir() && below(to.get(), moved.get())) return EINVAL;
  if (replaced && replaced->is_dir() && below(from.get(), replaced.get())) return exchange ? EINVAL : ENOTEMPTY;
  if (moved == replaced) return 0;
  if (replaced && !exchange) {
    if (moved->is_dir() && !replaced->is_dir()) return ENOTDIR;
    if (!moved->is_dir() && replaced->is_dir()) return EISDIR;
    if (!replaced->entries.empty()) return ENOTEMPTY;
  }
  if (replaced && !exchange) replaced->parent = nullptr;
  // The old name gets the other object, a whiteout (device 0:0, as for overlayfs), or is removed.
  set_entry(*from, op.name, exchange ? replaced : whiteout ? new_node(c, S_IFCHR) : nullptr);
  set_entry(*to, op.name2, moved);
  moved->touch(false);
  if (exchange) {
    replaced->touch(false);
  } else if (replaced) {
    replaced->attr.nlink = replaced->is_dir() ? 0 : replaced->attr.nlink - 1;
    replaced->touch(false);
    unlinked(replaced);
  }
  return 0;
}

int MemoryTree::readdir(Context& c) {
  Open* opened = find_open(c.op.handle);
  if (!opened) return EBADF;
  Node& node = *opened->node;
  if (!node.is_dir()) return ENOTDIR;
  if (node.attr.nlink == 0) return ENOENT;
  uint64_t cookie = opened->cursor.locate(c.op.offset);
  // A listing ends with the entries that existed at its start, because a name that is moved meanwhile would be listed twice.
  if (c.op.offset == 0 || !opened->listed_to) opened->listed_to = node.last_cookie;
  size_t limit = readdir_limit(c.op);
  c.reply.names.clear();
  c.reply.entries.clear();
  const auto end = node.order.upper_bound(*opened->listed_to);
  for (auto it = node.order.upper_bound(cookie); it != end && c.reply.names.size() < limit; ++it) {
    cookie = it->first;
    if (node.ino == kRootObject && is_own_entry(kRootObject, it->second)) continue;
    const Node& child = *node.entries.find(it->second)->second.node;
    c.reply.names.push_back(it->second);
    c.reply.entries.push_back({.ino = child.ino, .type = child.attr.mode & S_IFMT});
  }
  for (size_t i = 0; i < c.reply.names.size(); ++i) c.reply.entries[i].name = c.reply.names[i];
  opened->cursor.ended_at(cookie);
  c.outcome.entries = c.reply.entries;
  c.outcome.result = c.reply.entries.size();
  return 0;
}

}  // namespace fsr
