// SPDX-License-Identifier: Apache-2.0
// Extended attributes (RFC 8276). They are those that Linux calls user.*, without that prefix.
#include <errno.h>
#include <sys/xattr.h>

#include <algorithm>

#include "targets/nfs4/ops.hpp"
#include "targets/posix_acl.hpp"

namespace fsr::nfs4 {

namespace {

constexpr std::string_view kPrefix = "user.";
constexpr uint64_t kLongestValue = 64 << 10;     // as Linux allows (XATTR_SIZE_MAX)
constexpr uint32_t kNameBytesAtOnce = 64 << 10;  // bytes of one reply

std::string_view wire_name(const OpCall& call) { return call.op().name.substr(kPrefix.size()); }

// Sets the outcome from `call.buffer`. A recorded buffer of 0 bytes asks only for the size. Returns 0, or ERANGE if the recorded
// buffer is too small.
int answer(OpCall& call) {
  const uint64_t room = call.op().length;
  if (room && call.buffer.size() > room) return ERANGE;
  if (room) call.request->outcome.data = call.buffer;
  call.request->outcome.result = call.buffer.size();
  return 0;
}

}  // namespace

Task do_getxattr(OpCall& call) {
  FileHandle handle;
  if (int error = find_object(call, call.op().object, &handle)) co_return error;
  Rpc& rpc = call.ask();
  rpc.compound.putfh(handle).getxattr(wire_name(call));
  const Reply& reply = co_await call.send(rpc);
  if (reply.error) co_return reply.error;
  call.buffer = reply.data;
  co_return answer(call);
}

Task do_listxattr(OpCall& call) {
  FileHandle handle;
  if (int error = find_object(call, call.op().object, &handle)) co_return error;
  call.buffer.clear();
  bool eof = false;
  for (uint64_t cookie = 0; !eof;) {
    Rpc& rpc = call.ask();
    rpc.compound.putfh(handle).listxattrs(cookie, std::min(kNameBytesAtOnce, call.client().options.readdir_max));
    const Reply& reply = co_await call.send(rpc);
    if (reply.error) co_return reply.error;
    eof = reply.eof;
    if (!eof && (reply.entries.empty() || call.buffer.size() > kLongestValue))
      co_return EBADMSG;  // otherwise the listing could be endless
    cookie = reply.offset;
    for (const nfs::Entry& e : reply.entries) call.buffer.append(kPrefix).append(e.name).push_back('\0');
  }
  co_return answer(call);
}

Task do_setxattr(OpCall& call) {
  const Op& op = call.op();
  if (mode_of_minimal_acl(op)) co_return co_await do_setattr(call);
  if (op.length > kLongestValue) co_return E2BIG;
  FileHandle handle;
  if (int error = find_object(call, op.object, &handle)) co_return error;
  enum { either, create, replace };
  call.buffer.assign(op.data.substr(0, size_t(op.length)));
  call.buffer.resize(size_t(op.length), '\0');
  Rpc& rpc = call.ask();
  rpc.guarded = op.flags & XATTR_CREATE;
  rpc.compound.putfh(handle);
  rpc.compound.setxattr(op.flags & XATTR_CREATE    ? create
                        : op.flags & XATTR_REPLACE ? replace
                                                   : either,
                        wire_name(call), call.buffer);
  const Reply& reply = co_await call.send(rpc);
  co_return reply.error;
}

Task do_removexattr(OpCall& call) {
  FileHandle handle;
  if (int error = find_object(call, call.op().object, &handle)) co_return error;
  Rpc& rpc = call.ask();
  rpc.compound.putfh(handle).removexattr(wire_name(call));
  const Reply& reply = co_await call.send(rpc);
  co_return reply.error;
}

}  // namespace fsr::nfs4
