// SPDX-License-Identifier: Apache-2.0
// Listings of directories (listing.hpp).
#include <errno.h>

#include <algorithm>

#include "targets/nfs/nfs3_ops.hpp"

namespace fsr::nfs {

Task do_readdir(OpCall& call) {
  const Op& op = call.op();
  Open open;
  if (int error = find_open(call, &open)) co_return error;
  if (op.handle == 0) open.listing = std::make_shared<Listing>();
  if (!open.listing) co_return EBADF;
  Listing& listing = *open.listing;
  Batch& batch = call.batch;
  batch.object = open.object;
  batch.hidden_prefix = call.files().hidden_prefix();
  const bool plus = op.kind == OpKind::readdirplus;
  const uint32_t size = uint32_t(std::clamp<uint64_t>(op.length, kSmallestReaddir, call.client().options.readdir_max));
  // The mutex is free while a request is in flight, because other sessions may use the listing.
  std::unique_lock lock(listing.mutex);
  bool done = batch.begin(listing, op);
  while (!done) {
    const uint64_t verifier = batch.cookie ? listing.verifier : 0;
    lock.unlock();
    const ClientReply& reply =
        co_await call.send(plus ? Proc::readdirplus : Proc::readdir, plus ? encode_readdirplus : encode_readdir, open.handle,
                           batch.cookie, verifier, size);
    if (reply.error) co_return reply.error;
    lock.lock();
    if (!reply.eof && !batch.gets_on(listing, reply.entries)) {
      ++call.files().counters.stuck_listings;
      co_return EIO;
    }
    done = batch.take_reply(listing, reply.entries, reply.verifier, reply.eof);
  }
  batch.finish(listing, call.request->outcome);
  co_return 0;
}

}  // namespace fsr::nfs
