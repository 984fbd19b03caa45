// SPDX-License-Identifier: Apache-2.0
// WRITE and COMMIT. If their verifier shows that the server restarted, the lost data is written again.
#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <optional>

#include "base/payload.hpp"
#include "targets/nfs4/ops.hpp"

namespace fsr::nfs4 {

namespace {

constexpr unsigned kMostCommits = 4;  // COMMITs of one operation, on a server that restarts again and again

// Writes the lost data of a file again. Each piece is taken just before its write, because it must not overwrite data that other
// operations write meanwhile.
Task write_again(OpCall& call, File file) {
  if ((file.flags & O_ACCMODE) == O_RDONLY) file.stateid = kAnonymous;
  const uint64_t most = std::min<uint64_t>(call.client().options.write_max, Payload::kDirect);
  uint64_t next = 0;
  for (unsigned rounds = 0; rounds < nfs::kRewritingRounds;) {
    const std::optional<nfs::LostData> piece = call.files().take_lost(file.object, next, UINT64_MAX, most);
    if (!piece && next == 0) break;
    if (!piece) {
      next = 0;
      ++rounds;
      continue;
    }
    call.auxiliary();
    Written written;
    const std::string_view bytes = piece->source.data(piece->begin, size_t(piece->end - piece->begin));
    const int error = co_await write_bytes(call, file, piece->begin, bytes, Stable::unstable, &written);
    if (error) {
      call.files().leave(file.object, *piece);
      co_return error;
    }
    call.files().wrote_again(file.object, *piece, written.count, written.verifier);
    next = piece->begin + written.count;
  }
  co_return 0;
}

}  // namespace

Task write_bytes(OpCall& call, const File& file, uint64_t offset, std::string_view bytes, Stable stable, Written* written) {
  Rpc& rpc = call.ask(file.who);
  rpc.compound.putfh(file.handle).write(file.stateid, offset, stable, uint32_t(bytes.size()));
  const Reply& reply = co_await call.send(rpc, bytes);
  if (reply.error) co_return reply.error;
  if (reply.count > bytes.size()) co_return EBADMSG;
  if (reply.count == 0 && !bytes.empty()) co_return EIO;
  *written = {reply.count, reply.committed, reply.verifier};
  co_return 0;
}

Task write_lost_again(OpCall& call, const File& file) {
  if (!call.files().begin_rewriting(file.object)) co_return 0;
  const int error = co_await write_again(call, file);  // the next COMMIT handles data that could not be written again
  call.files().end_rewriting(file.object);
  co_return error;
}

Task do_fsync(OpCall& call) {
  const Op& op = call.op();
  File file;
  if (int error = find_file(call, op.handle, op.object, &file)) co_return error;
  uint64_t upto = 0;
  // An operation without a handle, as in traces of stateless protocols, always sends a COMMIT.
  if (!call.files().needs_commit(file.object, &upto) && op.handle) co_return 0;
  for (unsigned commits = 1;; ++commits) {
    Rpc& rpc = call.ask(file.who);
    rpc.compound.putfh(file.handle).commit();
    const Reply& reply = co_await call.send(rpc);
    if (reply.error) co_return reply.error;
    bool lost = false;
    const int for_good = call.files().committed(file.object, upto, reply.verifier, &lost);
    if (!lost || for_good) co_return for_good;
    if (commits == kMostCommits) co_return EIO;
    if (int error = co_await write_again(call, file)) co_return error;
    call.auxiliary();
    call.files().needs_commit(file.object, &upto);
  }
}

}  // namespace fsr::nfs4
