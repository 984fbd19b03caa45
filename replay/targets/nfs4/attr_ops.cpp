// SPDX-License-Identifier: Apache-2.0
// Operations on an object's attributes.
#include <errno.h>
#include <unistd.h>

#include "targets/nfs4/ops.hpp"
#include "targets/posix_acl.hpp"

namespace fsr::nfs4 {

Task do_null(OpCall& call) {
  const Reply& reply = co_await call.send(call.ask());
  co_return reply.error;
}

Task do_getattr(OpCall& call) {
  FileHandle handle;
  if (int error = find_object(call, call.op().object, &handle)) co_return error;
  Rpc& rpc = call.ask();
  rpc.compound.putfh(handle).getattr();
  const Reply& reply = co_await call.send(rpc);
  if (reply.error) co_return reply.error;
  call.files().learn_links(call.op().object, reply.attr);
  call.request->outcome.attr = reply.attr;
  co_return 0;
}

Task do_setattr(OpCall& call) {
  const Op& op = call.op();
  Attr set = op.set ? *op.set : Attr();
  set.mode = allowed_mode(call, set.mode);
  if (auto mode = mode_of_minimal_acl(op)) {
    call.auxiliary();
    if (int error = co_await do_getattr(call)) co_return error;
    set = {.valid = kAttrMode, .mode = *mode | (call.request->outcome.attr.mode & kBitsBesideAcl)};
  }
  File file;
  // A new size is a write, and needs the state of an open file with write access if there is one.
  const OpenState* open = set.valid & kAttrSize ? call.states().open(op.handle) : nullptr;
  const bool through = open && (open->access & kShareWrite);
  if (int error = find_file(call, through ? op.handle : 0, op.object, &file)) co_return error;
  Rpc& rpc = call.ask(through ? file.who : call.who);
  rpc.compound.putfh(file.handle).setattr(file.stateid, set).getattr();
  const Reply& reply = co_await call.send(rpc);
  if (reply.error) co_return reply.error;
  if (set.valid & kAttrSize) call.files().settled(call.op().object, set.size, UINT64_MAX);
  call.request->outcome.attr = reply.attr;
  co_return 0;
}

Task do_access(OpCall& call) {
  FileHandle handle;
  if (int error = find_object(call, call.op().object, &handle)) co_return error;
  Rpc& rpc = call.ask();
  rpc.compound.putfh(handle).access(nfs::access_request(call.op().mode)).getattr();
  const Reply& reply = co_await call.send(rpc);
  if (reply.error) co_return reply.error;
  call.request->outcome.attr = reply.attr;
  co_return nfs::access_granted(call.op().mode, reply.access) ? 0 : EACCES;
}

Task do_readlink(OpCall& call) {
  FileHandle handle;
  if (int error = find_object(call, call.op().object, &handle)) co_return error;
  Rpc& rpc = call.ask();
  rpc.compound.putfh(handle).readlink();
  const Reply& reply = co_await call.send(rpc);
  if (reply.error) co_return reply.error;
  call.buffer = reply.data;
  call.request->outcome.data = call.buffer;
  call.request->outcome.result = call.buffer.size();
  co_return 0;
}

Task do_statfs(OpCall& call) {
  FileHandle handle;
  if (int error = find_object(call, call.op().object, &handle)) co_return error;
  Rpc& rpc = call.ask();
  rpc.compound.putfh(handle).getattr(kSpaceAttributes);
  const Reply& reply = co_await call.send(rpc);
  co_return reply.error;
}

}  // namespace fsr::nfs4
