// SPDX-License-Identifier: Apache-2.0
// Listings of directories. The buffer and cursor of a recorded readdir mean nothing to the server. Each readdir takes as many
// entries as the recorded one returned, from the position that the recorded cursor maps to. The open instance keeps further
// entries that the server sent.
#include <errno.h>
#include <sys/stat.h>

#include <algorithm>

#include "targets/afp/ops.hpp"

namespace fsr::afp {

namespace {

constexpr uint64_t kSmallestBuffer = 4096, kLargestBuffer = 64 << 10;  // bytes of a reply
constexpr uint64_t kOldIndices = INT16_MAX;                            // largest index and count of FPEnumerateExt

// Fetches the entries after the first `from` ones. (The server counts from 1.)
Task fetch(OpCall& call, uint32_t did, Listing& l, uint64_t from, uint64_t wanted) {
  const Op& op = call.op();
  const bool wide = call.client().settings.version >= Version::v31;
  const bool plus = op.kind == OpKind::readdirplus;
  if (from >= (wide ? uint64_t(INT32_MAX) : kOldIndices)) co_return EOVERFLOW;
  const uint64_t most = std::min<uint64_t>(call.client().read_size(), wide ? kLargestBuffer : kOldIndices);
  const uint32_t buffer = uint32_t(std::clamp<uint64_t>(op.length, kSmallestBuffer, most));
  const uint16_t count = uint16_t(std::min<uint64_t>(wanted, kOldIndices));
  Rpc& rpc = call.ask_at(wide ? Command::enumerate2 : Command::enumerate, did);
  Encoder out = rpc.out();
  out.u16(uint16_t(plus ? kFileStat | kName : kNodeId | kName)).u16(uint16_t(plus ? kDirStat | kName : kNodeId | kName));
  out.u16(count);
  if (wide)
    out.u32(uint32_t(from + 1)).u32(buffer);
  else
    out.u16(uint16_t(from + 1)).u16(uint16_t(buffer));
  out.path({});
  const Reply& reply = co_await call.client().send(rpc);
  l.kept.clear();
  l.taken = 0;
  l.eof = reply.result == kObjectNotFound || (!reply.error && reply.entries.empty());
  if (l.eof) co_return 0;
  for (const Parms& e : reply.entries) {
    const uint32_t type = e.is_dir ? S_IFDIR : e.attr.mode & S_IFMT;
    l.kept.push_back({from_wire_name(e.name), e.id, type});
    l.progress.entry(e.name);
  }
  if (reply.error || l.progress.gets_on()) co_return reply.error;
  ++call.client().counters.stuck_listings;
  co_return EIO;
}

}  // namespace

Task do_readdir(OpCall& call) {
  const Op& op = call.op();
  const Open* open = call.tree().open(op.handle);
  if (!open) co_return EBADF;
  if (!open->listing) co_return ENOTDIR;
  const std::shared_ptr<Listing> listing = open->listing;
  Listing& l = *listing;
  uint32_t did = 0;
  if (int error = co_await call.tree().find_dir(call, open->object, &did)) co_return error;
  call.begin_listing();
  const uint64_t at = l.cursor.locate(op.offset);
  if (op.offset == 0 || at != l.position) l.restart(at);
  const size_t wanted = readdir_limit(op);
  while (call.listed() < wanted) {
    if (l.taken == l.kept.size()) {
      if (l.eof) break;
      if (int error = co_await fetch(call, did, l, l.position, wanted - call.listed())) co_return error;
      continue;
    }
    const Listing::BufferedEntry& e = l.kept[l.taken++];
    ++l.position;
    if (is_own_entry(op.object, e.name) || call.tree().is_hidden(e.name)) continue;
    call.list(e.name, e.ino, e.type);
  }
  l.cursor.ended_at(l.position);
  call.end_listing();
  co_return 0;
}

}  // namespace fsr::afp
