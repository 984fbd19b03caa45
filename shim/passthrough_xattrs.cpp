// SPDX-License-Identifier: Apache-2.0
// Extended attributes, POSIX ACLs among them.
#include <linux/limits.h>
#include <sys/xattr.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "passthrough.hpp"
#include "permission.hpp"
#include "space_limits.hpp"

namespace fsr::shim {

namespace {

enum class Want { kNothing, kRead, kChange, kSetAcl };

// Reading an attribute takes no permission but for those named user.*; the kernel itself guards trusted.* and security.*.
CallerScope::Extent extent(Request& r, Inode& inode, int fd, Want want) {
  bool allowed = want == Want::kNothing ? is_local(inode, fd) : want == Want::kRead && plainly_allowed(r.caller, inode, fd, R_OK);
  if (allowed) return CallerScope::kNothing;
  return want == Want::kRead ? CallerScope::kAll : caller_extent(inode, fd, CallerScope::kAll);
}

// The *xattr calls take no O_PATH descriptor; FdPath leads to what it stands for, symlinks included.
template <class Call>
void on_inode(Request& r, fuse_ino_t ino, Want want, Call call) {
  Inode* inode = r.inode(ino);
  r.op.object = inode->id;
  r.begin();
  LowerFd fd(r.shim.inodes, inode);
  if (fd.value() < 0) return r.fail(-fd.value());
  ssize_t n;
  std::optional<EntryCache::Change> closing;
  if (S_ISDIR(inode->type) && want == Want::kSetAcl) closing.emplace(r.shim.entries, *inode);
  int error;
  {
    CallerScope as_caller(r.caller, extent(r, *inode, fd.value(), want), {fd.value()});
    n = call(FdPath(fd.value()).text);
    error = n < 0 ? errno : 0;
  }
  // A refused change has closed nothing.
  if (closing && error != EPERM && error != EACCES && error != EROFS) closing->applied();
  if (error != 0) return r.fail(error);
  r.op.result = uint64_t(n);
}

// Whether the value of an attribute goes into the trace: what applications keep there is content like that of files. Others say
// who may do what, as modes do (access lists, capabilities, labels).
bool records_value(const Shim& shim, std::string_view name) {
  return shim.content == Content::full || !(name.starts_with("user.") || name.starts_with("trusted."));
}

// Answers a request for `size` bytes with `n` bytes of `value`, or with n alone when only the size was asked for.
void answer(Request& r, size_t size, const std::vector<char>& value) {
  size_t n = size_t(r.op.result);
  if (size != 0 && (r.op.kind == OpKind::listxattr || records_value(r.shim, r.op.name))) r.op.data = {value.data(), n};
  r.end(0);
  if (size == 0)
    fuse_reply_xattr(r.req(), n);
  else
    fuse_reply_buf(r.req(), value.data(), n);
}

std::vector<char>& value_buffer(size_t size) {
  thread_local std::vector<char> value;
  value.resize(size);
  return value;
}

void getxattr(fuse_req_t req, fuse_ino_t ino, const char* name, size_t size) {
  Request r(req, OpKind::getxattr);
  r.op.name = name;
  r.op.length = size;
  std::vector<char>& value = value_buffer(size);
  on_inode(r, ino, std::string_view(name).starts_with("user.") ? Want::kRead : Want::kNothing,
           [&](const char* path) { return ::getxattr(path, name, value.data(), size); });
  if (!r.replied()) answer(r, size, value);
}

// The underlying file system shows names in trusted.* to whoever may administer the system, which this process always may.
void leave_out_trusted(std::vector<char>& names, uint64_t* used) {
  size_t kept = 0;
  for (size_t at = 0; at < *used;) {
    std::string_view name(names.data() + at);
    size_t bytes = name.size() + 1;
    if (!name.starts_with("trusted.")) {
      memmove(names.data() + kept, names.data() + at, bytes);
      kept += bytes;
    }
    at += bytes;
  }
  *used = kept;
}

void listxattr(fuse_req_t req, fuse_ino_t ino, size_t size) {
  Request r(req, OpKind::listxattr);
  r.op.length = size;
  if (may_switch() && !(r.caller.capabilities().over_system() & capability(CAP_SYS_ADMIN))) {
    std::vector<char>& names = value_buffer(XATTR_LIST_MAX);
    on_inode(r, ino, Want::kNothing, [&](const char* path) { return ::listxattr(path, names.data(), names.size()); });
    if (r.replied()) return;
    leave_out_trusted(names, &r.op.result);
    if (size != 0 && r.op.result > size) return r.fail(ERANGE);
    return answer(r, size, names);
  }
  std::vector<char>& value = value_buffer(size);
  on_inode(r, ino, Want::kNothing, [&](const char* path) { return ::listxattr(path, value.data(), size); });
  if (!r.replied()) answer(r, size, value);
}

void setxattr(fuse_req_t req, fuse_ino_t ino, const char* name, const char* value, size_t size, int flags) {
  Request r(req, OpKind::setxattr);
  r.op.name = name;
  if (records_value(r.shim, name)) r.op.data = {value, size};
  r.op.length = size;
  r.op.flags = uint32_t(flags);
  on_inode(r, ino, std::string_view(name) == "system.posix_acl_access" ? Want::kSetAcl : Want::kChange,
           [&](const char* path) { return ssize_t(::setxattr(path, name, value, size, flags)); });
  if (!r.replied()) r.fail(0);
}

void removexattr(fuse_req_t req, fuse_ino_t ino, const char* name) {
  Request r(req, OpKind::removexattr);
  r.op.name = name;
  on_inode(r, ino, Want::kChange, [&](const char* path) { return ssize_t(::removexattr(path, name)); });
  if (!r.replied()) r.fail(0);
}

}  // namespace

void add_xattr_operations(fuse_lowlevel_ops& ops) {
  ops.getxattr = identified<getxattr>;
  ops.setxattr = identified<setxattr>;
  ops.listxattr = identified<listxattr>;
  ops.removexattr = identified<removexattr>;
}

}  // namespace fsr::shim
