// SPDX-License-Identifier: Apache-2.0
// COMMIT. If its verifier shows that the server restarted, the lost data is written and committed again.
#include <errno.h>

#include <algorithm>
#include <optional>

#include "base/payload.hpp"
#include "targets/nfs/nfs3_ops.hpp"

namespace fsr::nfs {

namespace {

constexpr unsigned kMostCommits = 4;  // COMMITs of one operation, on a server that restarts again and again

void after_write_again(OpCall& call, const Rpc& rpc, const Reply& reply, int error);

// Writes again the first piece of lost data in [from, upto). False: no data is lost there.
bool send_again(OpCall& call, uint64_t from, uint64_t upto) {
  const uint64_t most = std::min<uint64_t>(call.state().options.write_max, Payload::kDirect);
  std::optional<LostData> piece = call.state().take_lost(call.object, from, upto, most);
  if (!piece) return false;
  ++call.auxiliary;
  ++call.outstanding;
  Rpc& rpc = call.session->begin(call, Proc::write, after_write_again);
  rpc.piece = uint32_t(call.lost.size());
  rpc.offset = piece->begin;
  rpc.count = uint32_t(piece->end - piece->begin);
  XdrEncoder out(rpc.head);
  encode_write(out, call.handle, rpc.offset, rpc.count, Stable::unstable);
  call.lost.push_back(std::move(*piece));
  call.session->send(rpc, call.lost.back().source.data(rpc.offset, rpc.count));
  return true;
}

void advance(OpCall& call) {
  while (!call.error && call.outstanding < Nfs3Session::kParallel) {
    if (send_again(call, call.next, UINT64_MAX)) {
      call.next = call.lost.back().end;
      continue;
    }
    // Start again at the beginning, because data that was written again may be lost once more.
    if (call.outstanding > 0 || call.next == 0 || ++call.rounds == kRewritingRounds) break;
    call.next = 0;
  }
  if (call.outstanding > 0) return;
  call.lost.clear();  // also frees the kept data
  call.rewritten_then(call, call.error);
}

void after_write_again(OpCall& call, const Rpc& rpc, const Reply& reply, int error) {
  --call.outstanding;
  const LostData piece = call.lost[rpc.piece];
  if (!error && (reply.count > rpc.count || reply.count == 0)) error = reply.count ? EBADMSG : EIO;
  if (error) {
    call.error = error;
    call.state().leave(call.object, piece);
  } else {
    call.state().wrote_again(call.object, piece, reply.count, reply.verifier);
    if (reply.count < rpc.count) send_again(call, piece.begin + reply.count, piece.end);
  }
  advance(call);
}

void after_commit(OpCall& call, const Rpc& rpc, const Reply& reply, int error);

void send_commit(OpCall& call) {
  ++call.commits;
  Rpc& rpc = call.session->begin(call, Proc::commit, after_commit);
  XdrEncoder out(rpc.head);
  encode_commit(out, call.handle);
  call.session->send(rpc);
}

void commit_again(OpCall& call, int error) {
  if (error) return call.session->finish(call, error);
  ++call.auxiliary;
  call.state().needs_commit(call.object, &call.commit_upto);
  send_commit(call);
}

void after_commit(OpCall& call, const Rpc& rpc, const Reply& reply, int error) {
  if (error) return finish_plain(call, rpc, reply, error);
  bool lost = false;
  const int for_good = call.state().committed(call.object, call.commit_upto, reply.verifier, &lost);
  if (!lost || for_good || call.commits == kMostCommits) return finish_plain(call, rpc, reply, lost ? EIO : for_good);
  write_again(call, commit_again);
}

}  // namespace

void write_again(OpCall& call, void (*then)(OpCall& call, int error)) {
  call.next = 0;
  call.outstanding = call.rounds = 0;
  call.error = 0;
  call.rewritten_then = then;
  advance(call);
}

void start_fsync(OpCall& call) {
  Open open;
  if (!find_open(call, &open)) return;
  // An operation without a handle, as in traces of stateless protocols, always sends a COMMIT.
  const bool needed = call.state().needs_commit(open.object, &call.commit_upto);
  if (!needed && call.op().handle) return call.session->finish(call, 0);
  call.object = open.object;
  call.handle = open.handle;
  call.commits = 0;
  send_commit(call);
}

}  // namespace fsr::nfs
