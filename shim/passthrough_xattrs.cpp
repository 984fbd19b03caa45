// SPDX-License-Identifier: Apache-2.0
// Extended attributes, POSIX ACLs among them.
#include <sys/xattr.h>

#include <cerrno>
#include <vector>

#include "passthrough.hpp"

namespace fsr {

namespace {

// The *xattr calls take no O_PATH descriptor; FdPath leads to what it stands for, symlinks included.
template <class Call>
void on_inode(Request& r, fuse_ino_t ino, Call call) {
  Inode* inode = r.inode(ino);
  r.op.object = inode->id;
  r.begin();
  LowerFd fd(r.shim.inodes, inode);
  if (fd.value() < 0) return r.fail(-fd.value());
  ssize_t n;
  int error;
  {
    CallerScope as_caller(r.caller);
    n = call(FdPath(fd.value()).text);
    error = n < 0 ? errno : 0;
  }
  if (error != 0) return r.fail(error);
  r.op.result = uint64_t(n);
}

// Answers a request for `size` bytes with `n` bytes of `value`, or with n alone when only the size was asked for.
void answer(Request& r, size_t size, const std::vector<char>& value) {
  size_t n = size_t(r.op.result);
  if (size != 0) r.op.data = {value.data(), n};
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
  on_inode(r, ino, [&](const char* path) { return ::getxattr(path, name, value.data(), size); });
  if (!r.replied()) answer(r, size, value);
}

void listxattr(fuse_req_t req, fuse_ino_t ino, size_t size) {
  Request r(req, OpKind::listxattr);
  r.op.length = size;
  std::vector<char>& value = value_buffer(size);
  on_inode(r, ino, [&](const char* path) { return ::listxattr(path, value.data(), size); });
  if (!r.replied()) answer(r, size, value);
}

void setxattr(fuse_req_t req, fuse_ino_t ino, const char* name, const char* value, size_t size, int flags) {
  Request r(req, OpKind::setxattr);
  r.op.name = name;
  r.op.data = {value, size};
  r.op.length = size;
  r.op.flags = uint32_t(flags);
  on_inode(r, ino, [&](const char* path) { return ssize_t(::setxattr(path, name, value, size, flags)); });
  if (!r.replied()) r.fail(0);
}

void removexattr(fuse_req_t req, fuse_ino_t ino, const char* name) {
  Request r(req, OpKind::removexattr);
  r.op.name = name;
  on_inode(r, ino, [&](const char* path) { return ssize_t(::removexattr(path, name)); });
  if (!r.replied()) r.fail(0);
}

}  // namespace

void add_xattr_operations(fuse_lowlevel_ops& ops) {
  ops.getxattr = getxattr;
  ops.setxattr = setxattr;
  ops.listxattr = listxattr;
  ops.removexattr = removexattr;
}

}  // namespace fsr
