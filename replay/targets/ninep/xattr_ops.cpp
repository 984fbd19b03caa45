// SPDX-License-Identifier: Apache-2.0
// Extended attributes, in 9P2000.L. Each has a fid that is read, or written and then clunked. The clunk sets the attribute.
#include <errno.h>
#include <sys/xattr.h>

#include <algorithm>

#include "targets/ninep/ops.hpp"

namespace fsr::ninep {

namespace {

constexpr uint64_t kLongestValue = 64 << 10;  // as Linux allows (XATTR_SIZE_MAX)

// Reads an attribute, or the list of names if `name` is empty. `limit`: bytes of the caller's buffer; 0: only the size is wanted.
Task read_value(OpCall& call, std::string_view name, uint64_t limit) {
  FidRef file, value = nullptr;
  if (int error = co_await call.tree().find(call, call.op().object, &file, true)) co_return error;
  value = call.client().new_fid();
  Rpc& walk = call.ask(Type::xattrwalk);
  walk.out().u32(file->number).u32(value->number).str(name);
  const Reply& reply = co_await call.client().send(walk);
  value->live = !reply.error || may_know_fid(reply.error);
  if (reply.error) co_return reply.error;
  const uint64_t size = reply.size64;
  call.buffer.clear();
  int error = size > kLongestValue ? E2BIG : limit && size > limit ? ERANGE : 0;
  while (!error && limit && call.buffer.size() < size) {
    const uint32_t count = uint32_t(std::min<uint64_t>(size - call.buffer.size(), call.client().transfer_size(*value)));
    Rpc& read = call.ask(Type::read);
    read.out().u32(value->number).u64(call.buffer.size()).u32(count);
    const Reply& data = co_await call.client().send(read);
    error = data.error;
    if (!error && (data.data.empty() || data.data.size() > count)) error = EIO;
    if (!error) call.buffer += data.data;
  }
  co_await call.client().clunk(&call, value);
  if (error) co_return error;
  call.request->outcome.data = call.buffer;
  call.request->outcome.result = size;
  co_return 0;
}

// Sets or removes an attribute. `once`: it would fail the second time.
Task write_value(OpCall& call, std::string_view value, uint32_t flags, bool once) {
  FidRef file, copy;
  if (int error = co_await call.tree().find(call, call.op().object, &file)) co_return error;
  if (int error = co_await call.client().walk(&call, file, {}, &copy)) co_return error;
  Rpc& create = call.ask(Type::xattrcreate);
  create.out().u32(copy->number).str(call.op().name).u64(value.size()).u32(flags);
  const Reply& reply = co_await call.client().send(create);
  int error = reply.error;
  size_t done = 0;
  while (!error && done < value.size()) {
    const size_t count = std::min<size_t>(value.size() - done, call.client().transfer_size(*copy));
    Rpc& write = call.ask(Type::write);
    write.out().u32(copy->number).u64(done).u32(uint32_t(count));
    const Reply& written = co_await call.client().send(write, value.substr(done, count));
    error = written.error;
    if (!error && (written.size == 0 || written.size > count)) error = EIO;
    if (!error) done += written.size;
  }
  const int last = co_await call.client().clunk(&call, copy, !once || error);
  co_return error ? error : last;
}

}  // namespace

Task do_getxattr(OpCall& call) { return read_value(call, call.op().name, call.op().length); }
Task do_listxattr(OpCall& call) { return read_value(call, {}, call.op().length); }

Task do_setxattr(OpCall& call) {
  const Op& op = call.op();
  if (!call.client().has_xattrs()) co_return co_await do_setattr(call);  // this access list is equivalent to a mode
  if (op.length > kLongestValue) co_return E2BIG;
  call.buffer.assign(op.data.substr(0, size_t(op.length)));
  call.buffer.resize(size_t(op.length), '\0');
  co_return co_await write_value(call, call.buffer, op.flags & (XATTR_CREATE | XATTR_REPLACE), op.flags & XATTR_CREATE);
}

Task do_removexattr(OpCall& call) { return write_value(call, {}, XATTR_REPLACE, true); }

}  // namespace fsr::ninep
