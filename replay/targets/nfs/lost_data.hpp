// SPDX-License-Identifier: Apache-2.0
// Writes and COMMITs, in version 3 as in version 4. If their verifier shows that the server restarted, the lost data is written
// again (uncommitted.hpp).
//
// Each version has its own types OpCall and File, and functions for its requests, which these templates find by their arguments:
//   Task write_bytes(OpCall&, const File&, uint64_t offset, std::string_view bytes, Stable, Written*, const DataSource* lost);
//     writes at least one byte; `lost`: the bytes are written again; null: for the first time
//   Task commit_once(OpCall&, const File&, uint64_t* verifier);
// OpCall::restarted says that a reply showed a restart. The templates are static for the reason in path_protocol.hpp.
#pragma once

#include <errno.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/payload.hpp"
#include "base/task.hpp"
#include "targets/lanes.hpp"
#include "targets/nfs/nfs_state.hpp"

namespace fsr::nfs {

// The reply to a WRITE.
struct Written {
  uint64_t count = 0;
  Stable committed = Stable::unstable;
  uint64_t verifier = 0;
};

// Tracks whether written data is stable. True: older data, written again, may have replaced it on the server.
template <class OpCall, class File>
static bool keep_track(OpCall& call, const File& file, uint64_t offset, const Written& written, const DataSource& source,
                       uint64_t stamp) {
  NfsState& files = call.files();
  if (written.committed != Stable::unstable) return files.settled(file.object, offset, offset + written.count, stamp);
  const NfsState::Wrote wrote = files.wrote(file.object, offset, written.count, source, written.verifier, stamp);
  call.restarted |= wrote.restarted;
  return wrote.raced;
}

// Treats written data as lost, because it raced with older data.
template <class OpCall, class File>
static void lose(OpCall& call, const File& file, uint64_t offset, uint64_t count) {
  call.files().lose(file.object, offset, offset + count);
  call.restarted = true;
}

// One pass over the lost data of a file.
template <class OpCall, class File>
struct RewritingPass {
  OpCall& call;
  const File& file;
  uint64_t next = 0;   // the data before is taken
  bool found = false;  // there was lost data
  int error = 0;
};

// Takes lost data piece by piece, and writes it. Each piece is taken just before its write, because it must not overwrite data
// that other operations write meanwhile.
template <class OpCall, class File>
static Task rewrite_pieces(void* context) {
  auto& pass = *static_cast<RewritingPass<OpCall, File>*>(context);
  NfsState& files = pass.call.files();
  const ObjectId object = pass.file.object;
  const uint64_t most = std::min<uint64_t>(pass.call.client().options.write_max, Payload::kDirect);
  std::optional<LostData> piece;
  uint64_t rest = 0, rest_end = 0;  // the end of a piece of which the server wrote only the beginning
  while (!pass.error) {
    piece = rest < rest_end ? files.take_lost(object, rest, rest_end, most) : std::nullopt;
    if (!piece) piece = files.take_lost(object, pass.next, UINT64_MAX, most);
    if (!piece) break;
    pass.found = true;
    pass.next = std::max(pass.next, piece->end);
    pass.call.auxiliary();
    Written written;
    const std::string_view bytes = piece->source.data(piece->begin, size_t(piece->end - piece->begin));
    if (const int error =
            co_await write_bytes(pass.call, pass.file, piece->begin, bytes, Stable::unstable, &written, &piece->source)) {
      pass.error = error;
      files.leave(object, *piece);
      break;
    }
    files.wrote_again(object, *piece, written.count, written.verifier);
    rest = piece->begin + written.count;
    rest_end = piece->end;
  }
  co_return 0;
}

// Writes the lost data of a file again. It may be lost once more meanwhile.
template <class OpCall, class File>
static Task write_again(OpCall& call, const File& file) {
  for (unsigned rounds = 0; rounds < kRewritingRounds; ++rounds) {
    RewritingPass<OpCall, File> pass{call, file};
    Lanes lanes;
    co_await lanes.run(Lanes::kMost, rewrite_pieces<OpCall, File>, &pass);
    if (pass.error || !pass.found) co_return pass.error;
  }
  co_return 0;
}

// Writes again the data of the file that a restarted server lost, unless another operation is doing so. The next COMMIT handles
// data that could not be written again.
template <class OpCall, class File>
static Task write_lost_again(OpCall& call, const File& file) {
  if (!call.files().begin_rewriting(file.object)) co_return 0;
  const int error = co_await write_again(call, file);
  call.files().end_rewriting(file.object);
  co_return error;
}

// Commits the data of a file. `writer`: the file as used for data that is written again.
template <class OpCall, class File>
static Task commit_file(OpCall& call, const File& file, const File& writer) {
  constexpr unsigned kMostCommits = 4;  // on a server that restarts again and again
  uint64_t upto = 0;
  // An operation without a handle, as in traces of stateless protocols, always sends a COMMIT.
  if (!call.files().needs_commit(file.object, &upto) && call.op().handle) co_return 0;
  for (unsigned commits = 1;; ++commits) {
    uint64_t verifier = 0;
    if (int error = co_await commit_once(call, file, &verifier)) co_return error;
    bool lost = false;
    const int for_good = call.files().committed(file.object, upto, verifier, &lost);
    if (!lost || for_good) co_return for_good;
    if (commits == kMostCommits) co_return EIO;
    if (int error = co_await write_again(call, writer)) co_return error;
    call.auxiliary();
    call.files().needs_commit(file.object, &upto);
  }
}

}  // namespace fsr::nfs
