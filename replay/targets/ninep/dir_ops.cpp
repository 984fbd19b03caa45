// SPDX-License-Identifier: Apache-2.0
// Listings of directories. The buffer and cursor of a recorded readdir mean nothing to the server. Each readdir takes as many
// entries as the recorded one returned, from the position that the recorded cursor maps to. The open instance keeps further
// entries that the server sent.
#include <errno.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "targets/ninep/ops.hpp"

namespace fsr::ninep {

namespace {

constexpr uint64_t kSmallestBuffer = 4096;  // bytes of a request
constexpr unsigned kMostAgain = 64;         // times that one readdir begins the listing again

int stuck(OpCall& call) {
  ++call.client().counters.stuck_listings;
  return EIO;
}

// Fetches the next entries in 9P2000.L, where each entry has the offset of the next one.
Task fetch_linux(OpCall& call, const Open& open, uint32_t count) {
  Listing& l = *open.listing;
  const uint64_t from = l.position;
  Rpc& rpc = call.ask(Type::readdir);
  rpc.out().u32(open.fid->number).u64(from).u32(count);
  const Reply& reply = co_await call.client().send(rpc);
  if (reply.error) co_return reply.error;
  l.kept.clear();
  l.taken = 0;
  l.eof = reply.entries.empty();
  for (const Entry& e : reply.entries) {
    l.kept.push_back({std::string(e.name), e.ino, e.offset, e.type});
    l.progress.entry(e.name);
  }
  co_return l.eof || l.progress.gets_on(from, reply.entries.back().offset) ? 0 : stuck(call);
}

// Fetches the next entries in 9P2000 and .u, where a Tread continues after the last one or begins the listing again.
Task fetch_plain(OpCall& call, const Open& open, uint32_t count) {
  Listing& l = *open.listing;
  Rpc& rpc = call.ask(Type::read);
  rpc.out().u32(open.fid->number).u64(l.read_bytes).u32(count);
  const Reply& reply = co_await call.client().send(rpc);
  if (reply.error) co_return reply.error;
  if (reply.data.size() > count) co_return EBADMSG;
  Reply entries;
  if (!decode_stats(reply.data, call.client().dialect(), &entries)) co_return EBADMSG;
  l.kept.clear();
  l.taken = 0;
  l.eof = reply.data.empty();
  l.read_bytes += reply.data.size();
  for (const Entry& e : entries.entries) {
    const uint64_t number = l.read_entries++;
    l.progress.entry(e.name);
    const bool fresh = l.seen.insert(std::hash<std::string_view>()(e.name)).second;
    if (l.again ? fresh : number >= l.position) l.kept.push_back({std::string(e.name), e.ino, number + 1, e.type});
  }
  co_return l.eof || l.progress.gets_on() ? 0 : stuck(call);
}

}  // namespace

Task do_readdir(OpCall& call) {
  const Op& op = call.op();
  Open open;
  if (int error = co_await call.tree().find_open(call, op.handle, &open)) co_return error;
  if (!open.listing) co_return ENOTDIR;
  Listing& l = *open.listing;
  call.begin_listing();
  const uint64_t at = l.cursor.locate(op.offset);
  if (op.offset == 0 || at != l.position) l.restart(at);
  const size_t wanted = readdir_limit(op);
  const uint32_t most = call.client().transfer_size(*open.fid);
  const uint32_t count = uint32_t(std::clamp<uint64_t>(op.length, std::min<uint64_t>(kSmallestBuffer, most), most));
  unsigned again = 0;
  while (call.listed() < wanted) {
    if (l.taken == l.kept.size()) {
      if (l.eof) break;
      int error;
      if (call.client().linux())
        error = co_await fetch_linux(call, open, count);
      else
        error = co_await fetch_plain(call, open, count);
      // In 9P2000 and .u, entries have attributes. If a file is removed before a server (QEMU's) reads its attributes, the whole
      // reply is lost. The server's position in the listing is then behind these entries.
      if (error == ENOENT && !call.client().linux() && again++ < kMostAgain)
        l.begin_again();
      else if (error)
        co_return error;
      continue;
    }
    const Listing::BufferedEntry& e = l.kept[l.taken++];
    l.position = e.cursor;
    if (e.name == "." || e.name == ".." || is_own_entry(op.object, e.name) || call.tree().is_hidden(e.name)) continue;
    call.list(e.name, e.ino, e.type);
  }
  l.cursor.ended_at(l.position);
  call.end_listing();
  co_return 0;
}

}  // namespace fsr::ninep
