// SPDX-License-Identifier: Apache-2.0
// COMMIT, and what follows when its verifier tells that the server restarted: what it lost is written again, and committed again.
#include <errno.h>

#include <algorithm>
#include <optional>

#include "base/payload.hpp"
#include "targets/nfs/nfs3_ops.hpp"

namespace fsr::nfs {

namespace {

constexpr unsigned kMostCommits = 4;  // of one operation, on a server that restarts again and again
constexpr unsigned kMostRounds = 8;   // through what others write meanwhile

void after_write_again(Call& call, const Rpc& rpc, const Reply& reply, int error);

void send_again(Call& call, uint32_t piece, uint64_t offset, uint32_t count) {
  ++call.auxiliary;
  ++call.outstanding;
  Rpc& rpc = call.session->begin(call, Proc::write, after_write_again);
  rpc.piece = piece;
  rpc.offset = offset;
  rpc.count = count;
  XdrEncoder out(rpc.head);
  encode_write(out, call.handle, offset, count, Stable::unstable);
  call.session->send(rpc, call.lost[piece].source.data(offset, count));
}

void advance(Call& call) {
  const uint64_t most = std::min<uint64_t>(call.state().options.write_max, Payload::kDirect);
  while (!call.error && call.outstanding < Nfs3Session::kParallel) {
    std::optional<LostData> lost = call.state().next_lost(call.object, call.next);
    // What others wrote while it was under way is to be written once more.
    if (!lost && call.outstanding == 0 && call.next != 0 && ++call.rounds < kMostRounds)
      lost = call.state().next_lost(call.object, 0);
    if (!lost) break;
    const uint32_t count = uint32_t(std::min(most, lost->end - lost->begin));
    call.lost.push_back(*lost);
    call.next = lost->begin + count;
    send_again(call, uint32_t(call.lost.size() - 1), lost->begin, count);
  }
  if (call.outstanding == 0) call.rewritten_then(call, call.error);
}

void after_write_again(Call& call, const Rpc& rpc, const Reply& reply, int error) {
  --call.outstanding;
  if (!error && (reply.count > rpc.count || reply.count == 0)) error = reply.count ? EBADMSG : EIO;
  if (error) {
    call.error = error;
  } else {
    LostData part = call.lost[rpc.piece];
    part.begin = rpc.offset;
    part.end = rpc.offset + reply.count;
    call.state().wrote_again(call.object, part, reply.verifier);
    if (reply.count < rpc.count) send_again(call, rpc.piece, part.end, rpc.count - reply.count);
  }
  advance(call);
}

void after_commit(Call& call, const Rpc& rpc, const Reply& reply, int error);

void send_commit(Call& call) {
  ++call.commits;
  Rpc& rpc = call.session->begin(call, Proc::commit, after_commit);
  XdrEncoder out(rpc.head);
  encode_commit(out, call.handle);
  call.session->send(rpc);
}

void commit_again(Call& call, int error) {
  if (error) return call.session->finish(call, error);
  ++call.auxiliary;
  call.state().needs_commit(call.object, &call.commit_upto);
  send_commit(call);
}

void after_commit(Call& call, const Rpc& rpc, const Reply& reply, int error) {
  if (error) return finish_plain(call, rpc, reply, error);
  const int for_good = call.state().committed(call.object, call.commit_upto, reply.verifier, &call.lost);
  if (call.lost.empty() || for_good || call.commits == kMostCommits)
    return finish_plain(call, rpc, reply, call.lost.empty() ? for_good : EIO);
  write_again(call, commit_again);
}

}  // namespace

void write_again(Call& call, void (*then)(Call& call, int error)) {
  call.lost.clear();
  call.next = 0;
  call.outstanding = call.rounds = 0;
  call.error = 0;
  call.rewritten_then = then;
  advance(call);
}

void start_fsync(Call& call) {
  Open open;
  if (!find_open(call, &open)) return;
  // Without an open file the operation is a COMMIT by itself, from somebody who knows no opens.
  const bool needed = call.state().needs_commit(open.object, &call.commit_upto);
  if (!needed && call.op().handle) return call.session->finish(call, 0);
  call.object = open.object;
  call.handle = open.handle;
  call.commits = 0;
  send_commit(call);
}

}  // namespace fsr::nfs
