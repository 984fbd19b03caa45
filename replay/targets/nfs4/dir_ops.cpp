// SPDX-License-Identifier: Apache-2.0
// Listings of directories (listing.hpp).
#include <errno.h>

#include <algorithm>

#include "targets/nfs4/ops.hpp"

namespace fsr::nfs4 {

namespace {

inline constexpr AttrMask kEverything{kType,       kSize,      kReaddirError, kFileid,     kMode,         kNumLinks,  kOwner,
                                      kOwnerGroup, kRawDevice, kSpaceUsed,    kTimeAccess, kTimeMetadata, kTimeModify};

}  // namespace

Task do_readdir(OpCall& call) {
  const Op& op = call.op();
  nfs::Open open;
  if (op.handle == 0) {
    if (int error = find_object(call, op.object, &open.handle)) co_return error;
    open.listing = std::make_shared<nfs::Listing>();
  } else if (!call.files().opens.get(op.handle, &open) || !open.listing) {
    co_return EBADF;
  }
  // The listing's mutex is not needed, because the connection's mutex is held.
  nfs::Listing& listing = *open.listing;
  nfs::Batch& batch = call.batch;
  batch.object = op.object;
  batch.hidden_prefix = call.files().hidden_prefix();
  const uint32_t size = uint32_t(std::clamp<uint64_t>(op.length, nfs::kSmallestReaddir, call.client().options.readdir_max));
  bool done = batch.begin(listing, op);
  while (!done) {
    Rpc& rpc = call.ask();
    rpc.compound.putfh(open.handle);
    rpc.compound.readdir(batch.cookie, batch.cookie ? listing.verifier : 0, size,
                         op.kind == OpKind::readdirplus ? kEverything : kEntryAttributes);
    const Reply& reply = co_await call.send(rpc);
    if (reply.error) co_return reply.error;
    if (!reply.eof && !batch.gets_on(listing, reply.entries)) {
      ++call.files().counters.stuck_listings;
      co_return EIO;
    }
    done = batch.take_reply(listing, reply.entries, reply.verifier, reply.eof);
  }
  batch.finish(listing, call.request->outcome);
  co_return 0;
}

}  // namespace fsr::nfs4
