// SPDX-License-Identifier: Apache-2.0
// Listings of directories (listing.hpp).
#include <errno.h>

#include <algorithm>

#include "targets/nfs/nfs3_ops.hpp"

namespace fsr::nfs {

namespace {

void send_readdir(OpCall& call, uint64_t verifier);

void after_readdir(OpCall& call, const Rpc&, const Reply& reply, int error) {
  if (error) return call.session->finish(call, error);
  bool gets_on, done = false;
  {
    std::lock_guard lock(call.listing->mutex);
    gets_on = reply.eof || call.batch.gets_on(*call.listing, reply.entries);
    if (gets_on) done = call.batch.take_reply(*call.listing, reply.entries, reply.verifier, reply.eof);
    if (done) call.batch.finish(*call.listing, call.request->outcome);
  }
  if (!gets_on) ++call.state().counters.stuck_listings;
  if (done || !gets_on) return call.session->finish(call, gets_on ? 0 : EIO);
  send_readdir(call, reply.verifier);
}

void send_readdir(OpCall& call, uint64_t verifier) {
  const NfsOptions& o = call.state().options;
  const uint64_t cookie = call.batch.cookie;
  bool plus = call.op().kind == OpKind::readdirplus;
  uint32_t count = uint32_t(std::clamp<uint64_t>(call.op().length, kSmallestReaddir, o.readdir_max));
  Rpc& rpc = call.session->begin(call, plus ? Proc::readdirplus : Proc::readdir, after_readdir);
  XdrEncoder out(rpc.head);
  (plus ? encode_readdirplus : encode_readdir)(out, call.handle, cookie, cookie ? verifier : 0, count);
  call.session->send(rpc);
}

}  // namespace

void start_readdir(OpCall& call) {
  const Op& op = call.op();
  Open open;
  if (op.handle == 0) {
    if (!find_object(call, op.object, &open.handle)) return;
    open.object = op.object;
    open.listing = std::make_shared<Listing>();
  } else if (!call.state().opens.get(op.handle, &open) || !open.listing) {
    return call.session->finish(call, EBADF);
  }
  call.handle = open.handle;
  call.batch.object = open.object;
  call.batch.hidden_prefix = call.state().hidden_prefix();
  call.listing = std::move(open.listing);
  uint64_t verifier;
  {
    std::lock_guard lock(call.listing->mutex);
    verifier = call.listing->verifier;
    if (call.batch.begin(*call.listing, op)) {
      call.batch.finish(*call.listing, call.request->outcome);
      return call.session->finish(call, 0);
    }
  }
  send_readdir(call, verifier);
}

}  // namespace fsr::nfs
