// SPDX-License-Identifier: Apache-2.0
// Operations on an object's attributes.
#include <errno.h>

#include "targets/nfs/nfs3_ops.hpp"
#include "targets/posix_acl.hpp"

namespace fsr::nfs {

namespace {

int finish_attributes(OpCall& call, const ClientReply& reply) {
  if (!reply.error) call.files().learn_links(call.op().object, reply.attr);
  return finish_plain(call, reply);
}

Task set_attributes(OpCall& call, const FileHandle& handle, const Attr& set) {
  const ClientReply& reply = co_await call.send(Proc::setattr, encode_setattr, handle, set);
  if (!reply.error && (set.valid & kAttrSize)) call.files().settled(call.op().object, set.size, UINT64_MAX);
  co_return finish_attributes(call, reply);
}

}  // namespace

Task do_null(OpCall& call) {
  const ClientReply& reply = co_await call.client().send(call.ask(Proc::null));
  co_return reply.error;
}

Task do_getattr(OpCall& call) {
  FileHandle handle;
  if (int error = find_object(call, call.op().object, &handle)) co_return error;
  const ClientReply& reply = co_await call.send(Proc::getattr, encode_handle, handle);
  co_return finish_attributes(call, reply);
}

Task do_readlink(OpCall& call) {
  FileHandle handle;
  if (int error = find_object(call, call.op().object, &handle)) co_return error;
  const ClientReply& reply = co_await call.send(Proc::readlink, encode_handle, handle);
  if (reply.error) co_return reply.error;
  call.request->outcome.data = reply.data;
  call.request->outcome.result = reply.data.size();
  co_return 0;
}

Task do_statfs(OpCall& call) {
  FileHandle handle;
  if (int error = find_object(call, call.op().object, &handle)) co_return error;
  const uint32_t what = call.op().flags;
  const Proc proc = what == kStatfsInfo ? Proc::fsinfo : what == kStatfsNames ? Proc::pathconf : Proc::fsstat;
  const ClientReply& reply = co_await call.send(proc, encode_handle, handle);
  co_return finish_plain(call, reply);
}

Task do_setattr(OpCall& call) {
  const Op& op = call.op();
  FileHandle handle;
  if (int error = find_object(call, op.object, &handle)) co_return error;
  Attr set = op.set ? *op.set : Attr();
  set.mode = allowed_mode(call, set.mode);
  if (const auto mode = mode_of_minimal_acl(op)) {
    call.auxiliary();
    const ClientReply& before = co_await call.send(Proc::getattr, encode_handle, handle);
    if (before.error) co_return before.error;
    set = {.valid = kAttrMode, .mode = *mode | (before.attr.mode & kBitsBesideAcl)};
  }
  co_return co_await set_attributes(call, handle, set);
}

Task do_fallocate(OpCall& call) {
  Open file{.object = call.op().object};
  if (int error = find_object(call, file.object, &file.handle)) co_return error;
  co_return co_await plain_fallocate(call, file);
}

Task size_of(OpCall& call, const Open& file, uint64_t* size) {
  const ClientReply& reply = co_await call.send(Proc::getattr, encode_handle, file.handle);
  *size = reply.attr.size;
  co_return reply.error;
}

Task set_size(OpCall& call, const Open& file, uint64_t size) {
  co_return co_await set_attributes(call, file.handle, {.valid = kAttrSize, .size = size});
}

Task do_access(OpCall& call) {
  FileHandle handle;
  if (int error = find_object(call, call.op().object, &handle)) co_return error;
  const ClientReply& reply = co_await call.send(Proc::access, encode_access, handle, access_request(call.op().mode));
  if (!reply.error && !access_granted(call.op().mode, reply.access)) co_return EACCES;
  co_return finish_plain(call, reply);
}

}  // namespace fsr::nfs
