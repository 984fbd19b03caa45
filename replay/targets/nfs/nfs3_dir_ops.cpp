// SPDX-License-Identifier: Apache-2.0
// Listings. A recorded readdir has its own buffer and cursor, which mean nothing to the server. Each takes as many entries as the
// recorded one returned, from where the recorded cursor leads; what the server sent beyond that waits in the open instance, as in
// a client's page cache, so that a recorded listing in any number of calls lists everything once.
#include <errno.h>

#include <algorithm>

#include "targets/dir_cursor.hpp"
#include "targets/nfs/nfs3_ops.hpp"

namespace fsr::nfs {

namespace {

constexpr size_t kSmallestBuffer = 4096;  // of a request, bytes

// Takes an entry if the operation still wants one. Entries that no operation knows are passed over.
bool take(Call& call, std::string_view name, uint64_t fileid, uint32_t type, uint64_t cookie) {
  if (name == "." || name == ".." || call.state().is_hidden(name) || is_own_entry(call.object, name)) {
    call.cookie = cookie;
    return true;
  }
  if (call.entries.size() >= call.wanted) return false;
  call.buffer += name;
  call.name_sizes.push_back(uint32_t(name.size()));
  call.entries.push_back(DirEntry{.ino = fileid, .type = type});
  call.cookie = cookie;
  return true;
}

// Takes what the last reply left over. True: nothing more is wanted, or there is nothing more.
bool take_kept(Call& call, Listing& listing) {
  if (listing.entries_after != call.cookie) return false;
  while (listing.taken < listing.entries.size()) {
    const Listing::Kept& e = listing.entries[listing.taken];
    std::string_view name = std::string_view(listing.names).substr(listing.taken_names, e.name_size);
    if (!take(call, name, e.fileid, e.type, e.cookie)) return true;
    ++listing.taken;
    listing.taken_names += e.name_size;
    listing.entries_after = e.cookie;
  }
  return listing.eof || call.entries.size() >= call.wanted;
}

void finish_listing(Call& call, Listing& listing) {
  listing.cursor.ended_at(call.cookie);
  size_t at = 0;
  for (size_t i = 0; i < call.entries.size(); ++i) {
    call.entries[i].name = std::string_view(call.buffer).substr(at, call.name_sizes[i]);
    at += call.name_sizes[i];
  }
  call.request->outcome.entries = call.entries;
  call.request->outcome.result = call.entries.size();
}

void send_readdir(Call& call, uint64_t verifier);

void after_readdir(Call& call, const Rpc&, const Reply& reply, int error) {
  if (error) return call.session->finish(call, error);
  if (reply.entries.empty() && !reply.eof) return call.session->finish(call, EBADMSG);  // it would go on forever
  bool done;
  {
    std::lock_guard lock(call.listing->mutex);
    Listing& listing = *call.listing;
    listing.forget();
    listing.verifier = reply.verifier;
    listing.entries_after = call.cookie;
    listing.eof = reply.eof;
    for (const Entry& e : reply.entries) {
      listing.names += e.name;
      listing.entries.push_back({uint32_t(e.name.size()), e.type, e.fileid, e.cookie});
    }
    done = take_kept(call, listing);
    if (done) finish_listing(call, listing);
  }
  if (done) return call.session->finish(call, 0);
  send_readdir(call, reply.verifier);
}

void send_readdir(Call& call, uint64_t verifier) {
  const NfsOptions& o = call.state().options;
  bool plus = call.op().kind == OpKind::readdirplus;
  uint32_t count = uint32_t(std::clamp<uint64_t>(call.op().length, kSmallestBuffer, o.readdir_max));
  Rpc& rpc = call.session->begin(call, plus ? Proc::readdirplus : Proc::readdir, after_readdir);
  XdrEncoder out(rpc.head);
  (plus ? encode_readdirplus : encode_readdir)(out, call.handle, call.cookie, call.cookie ? verifier : 0, count);
  call.session->send(rpc);
}

}  // namespace

void start_readdir(Call& call) {
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
  call.object = open.object;
  call.listing = std::move(open.listing);
  call.entries.clear();
  call.name_sizes.clear();
  call.buffer.clear();
  call.wanted = readdir_limit(op);
  uint64_t verifier;
  {
    std::lock_guard lock(call.listing->mutex);
    call.cookie = call.listing->cursor.locate(op.offset);
    if (op.offset == 0) call.listing->forget();
    verifier = call.listing->verifier;
    if (take_kept(call, *call.listing)) {
      finish_listing(call, *call.listing);
      return call.session->finish(call, 0);
    }
  }
  send_readdir(call, verifier);
}

}  // namespace fsr::nfs
