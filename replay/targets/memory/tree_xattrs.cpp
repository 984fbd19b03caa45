// SPDX-License-Identifier: Apache-2.0
// Memory target: extended attributes.
#include <sys/xattr.h>

#include <cerrno>
#include <climits>

#include "node.hpp"
#include "targets/posix_acl.hpp"
#include "tree.hpp"

namespace fsr {

constexpr size_t kMaxName = 255, kMaxValue = 65536;  // as in the kernel

static int check_name(std::string_view name, uint32_t mode, bool change) {
  if (name.empty() || name.size() > kMaxName) return ERANGE;
  if (name.find('\0') != std::string_view::npos) return EINVAL;
  if (name.starts_with("user.")) {
    if (name.size() == 5) return EINVAL;
    if (S_ISREG(mode) || S_ISDIR(mode)) return 0;
    return change ? EPERM : ENODATA;
  }
  return name.starts_with("trusted.") || name.starts_with("security.") || name.starts_with("system.") ? 0 : EOPNOTSUPP;
}

// True: the attribute is an ACL (acl(5)). The flags of a change are ignored for it, and removing one that does not exist
// succeeds.
static bool is_access_list(std::string_view name) { return name.starts_with("system.posix_acl_"); }

int MemoryTree::getxattr(Context& c) {
  NodePtr node;
  if (int error = subject(c.op, &node)) return error;
  if (int error = check_name(c.op.name, node->attr.mode, false)) return error;
  auto it = node->xattrs.find(c.op.name);
  if (it == node->xattrs.end()) return ENODATA;
  c.outcome.result = it->second.size();
  if (c.op.length == 0) return 0;
  if (c.op.length < it->second.size()) return ERANGE;
  c.reply.data = it->second;
  c.outcome.data = c.reply.data;
  return 0;
}

int MemoryTree::setxattr(Context& c) {
  NodePtr node;
  if (int error = subject(c.op, &node)) return error;
  if (int error = check_name(c.op.name, node->attr.mode, true)) return error;
  if (c.op.length > kMaxValue) return E2BIG;
  if (c.op.flags & ~uint32_t(XATTR_CREATE | XATTR_REPLACE)) return EINVAL;
  const bool list = is_access_list(c.op.name), there = node->xattrs.count(c.op.name) != 0;
  if (list && c.op.name == "system.posix_acl_default" && !node->is_dir()) return EACCES;
  if (!list && there && (c.op.flags & XATTR_CREATE)) return EEXIST;
  if (!list && !there && (c.op.flags & XATTR_REPLACE)) return ENODATA;
  if (std::optional<uint32_t> mode = mode_of_minimal_acl(c.op)) {  // a minimal list only sets the mode
    node->attr.mode = (node->attr.mode & (S_IFMT | kBitsBesideAcl)) | *mode;
    node->touch(false);
    return 0;
  }
  std::string value(c.payload.empty() ? c.op.data : c.payload);
  value.resize(c.op.length);
  node->xattrs.insert_or_assign(std::string(c.op.name), std::move(value));
  node->touch(false);
  return 0;
}

int MemoryTree::listxattr(Context& c) {
  NodePtr node;
  if (int error = subject(c.op, &node)) return error;
  c.reply.data.clear();
  for (const auto& [name, value] : node->xattrs) c.reply.data.append(name).push_back('\0');
  c.outcome.result = c.reply.data.size();
  if (c.op.length == 0) return 0;
  if (c.op.length < c.reply.data.size()) return ERANGE;
  c.outcome.data = c.reply.data;
  return 0;
}

int MemoryTree::removexattr(Context& c) {
  NodePtr node;
  if (int error = subject(c.op, &node)) return error;
  if (int error = check_name(c.op.name, node->attr.mode, true)) return error;
  auto it = node->xattrs.find(c.op.name);
  if (it == node->xattrs.end()) return is_access_list(c.op.name) ? 0 : ENODATA;
  node->xattrs.erase(it);
  node->touch(false);
  return 0;
}

}  // namespace fsr
