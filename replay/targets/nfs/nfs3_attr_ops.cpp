// SPDX-License-Identifier: Apache-2.0
// Operations on an object's attributes.
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "targets/nfs/nfs3_ops.hpp"
#include "targets/plain_fallocate.hpp"
#include "targets/posix_acl.hpp"

namespace fsr::nfs {

namespace {

void finish_attributes(OpCall& call, const Rpc& rpc, const Reply& reply, int error) {
  if (!error) call.state().learn_links(call.op().object, reply.attr);
  finish_plain(call, rpc, reply, error);
}

void finish_setattr(OpCall& call, const Rpc& rpc, const Reply& reply, int error) {
  const Attr* set = call.op().set;
  if (!error && set && (set->valid & kAttrSize)) call.state().settled(call.op().object, set->size, UINT64_MAX);
  finish_attributes(call, rpc, reply, error);
}

void finish_access(OpCall& call, const Rpc& rpc, const Reply& reply, int error) {
  if (!error && !access_granted(call.op().mode, reply.access)) error = EACCES;
  finish_plain(call, rpc, reply, error);
}

void finish_readlink(OpCall& call, const Rpc&, const Reply& reply, int error) {
  if (!error) {
    call.request->outcome.data = reply.data;
    call.request->outcome.result = reply.data.size();
  }
  call.session->finish(call, error);
}

// Sends a request whose only argument is the object's file handle.
void send_plain(OpCall& call, Proc proc, Then then) {
  if (!find_object(call, call.op().object, &call.handle)) return;
  Rpc& rpc = call.session->begin(call, proc, then);
  XdrEncoder out(rpc.head);
  encode_handle(out, call.handle);
  call.session->send(rpc);
}

void send_setattr(OpCall& call, const Attr& set) {
  Rpc& rpc = call.session->begin(call, Proc::setattr, finish_setattr);
  XdrEncoder out(rpc.head);
  encode_setattr(out, call.handle, set);
  call.session->send(rpc);
}

void after_mode_before_acl(OpCall& call, const Rpc&, const Reply& reply, int error) {
  if (error) return call.session->finish(call, error);
  const uint32_t mode = mode_of_minimal_acl(call.op()).value_or(0) | (reply.attr.mode & kBitsBesideAcl);
  send_setattr(call, {.valid = kAttrMode, .mode = mode});
}

void write_zeros(OpCall& call);

void after_zeros(OpCall& call, const Rpc& rpc, const Reply& reply, int error) {
  if (!error && (reply.count > rpc.count || reply.count == 0)) error = reply.count ? EBADMSG : EIO;
  if (error) return call.session->finish(call, error);
  call.state().settled(call.op().object, rpc.offset, rpc.offset + reply.count);
  call.next += reply.count;
  write_zeros(call);
}

// Writes zeros from `next` to `end`, piece by piece. The writes are stable, because they could not be repeated after a restart of
// the server.
void write_zeros(OpCall& call) {
  if (call.next >= call.end) return call.session->finish(call, 0);
  ++call.auxiliary;
  Rpc& rpc = call.session->begin(call, Proc::write, after_zeros);
  rpc.offset = call.next;
  rpc.count = uint32_t(std::min<uint64_t>(call.state().options.write_max, call.end - call.next));
  XdrEncoder out(rpc.head);
  encode_write(out, call.handle, rpc.offset, rpc.count, Stable::file);
  call.session->send(rpc, zeros(rpc.count));
}

// Sets the size that fallocate(2) would set, or writes zeros, because no request reserves or clears space.
void after_size_before_fallocate(OpCall& call, const Rpc&, const Reply& reply, int error) {
  const Op& op = call.op();
  if (!error && clears_range(op)) {
    call.next = op.offset;
    call.end = op.offset + zeros_to_write(op, reply.attr.size);
    return write_zeros(call);
  }
  if (error || reply.attr.size >= op.offset + op.length) return call.session->finish(call, error);
  send_setattr(call, {.valid = kAttrSize, .size = op.offset + op.length});
}

}  // namespace

void start_null(OpCall& call) { call.session->send(call.session->begin(call, Proc::null, finish_plain)); }

void start_getattr(OpCall& call) { send_plain(call, Proc::getattr, finish_attributes); }

void start_readlink(OpCall& call) { send_plain(call, Proc::readlink, finish_readlink); }

void start_statfs(OpCall& call) {
  const uint32_t what = call.op().flags;
  send_plain(call, what == kStatfsInfo ? Proc::fsinfo : what == kStatfsNames ? Proc::pathconf : Proc::fsstat, finish_plain);
}

void start_setattr(OpCall& call) {
  const Op& op = call.op();
  if (mode_of_minimal_acl(op)) {
    ++call.auxiliary;
    return send_plain(call, Proc::getattr, after_mode_before_acl);
  }
  if (!find_object(call, op.object, &call.handle)) return;
  Attr set = op.set ? *op.set : Attr();
  set.mode = allowed_mode(call, set.mode);
  send_setattr(call, set);
}

void start_fallocate(OpCall& call) {
  if (int error = range_error(call.op())) return call.session->finish(call, error);
  ++call.auxiliary;
  send_plain(call, Proc::getattr, after_size_before_fallocate);
}

void start_access(OpCall& call) {
  if (!find_object(call, call.op().object, &call.handle)) return;
  Rpc& rpc = call.session->begin(call, Proc::access, finish_access);
  XdrEncoder out(rpc.head);
  encode_access(out, call.handle, access_request(call.op().mode));
  call.session->send(rpc);
}

}  // namespace fsr::nfs
