// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/listing.hpp"

namespace fsr::nfs {

// Takes an entry. Skips entries that are not part of the replayed tree. False: the operation wants no more entries.
bool Batch::take(std::string_view name, uint64_t fileid, uint32_t type, uint64_t at) {
  if (name == "." || name == ".." || name.starts_with(hidden_prefix) || is_own_entry(object, name)) {
    cookie = at;
    return true;
  }
  if (entries.size() >= wanted) return false;
  names += name;
  name_sizes.push_back(uint32_t(name.size()));
  entries.push_back(DirEntry{.ino = fileid, .type = type});
  cookie = at;
  return true;
}

bool Batch::take_kept(Listing& listing) {
  if (listing.entries_after != cookie) return false;
  while (listing.taken < listing.entries.size()) {
    const Listing::BufferedEntry& e = listing.entries[listing.taken];
    std::string_view name = std::string_view(listing.names).substr(listing.taken_names, e.name_size);
    if (!take(name, e.fileid, e.type, e.cookie)) return true;
    ++listing.taken;
    listing.taken_names += e.name_size;
    listing.entries_after = e.cookie;
  }
  return listing.eof || entries.size() >= wanted;
}

bool Batch::gets_on(Listing& listing, std::span<const Entry> reply) const {
  for (const Entry& e : reply) listing.progress.entry(e.name);
  return listing.progress.gets_on(cookie, reply.empty() ? cookie : reply.back().cookie);
}

bool Batch::take_reply(Listing& listing, std::span<const Entry> reply, uint64_t verifier, bool eof) {
  listing.forget();
  listing.verifier = verifier;
  listing.entries_after = cookie;
  listing.eof = eof;
  for (const Entry& e : reply) {
    listing.names += e.name;
    listing.entries.push_back({uint32_t(e.name.size()), e.type, e.fileid, e.cookie});
  }
  return take_kept(listing);
}

bool Batch::begin(Listing& listing, const Op& op) {
  entries.clear();
  name_sizes.clear();
  names.clear();
  wanted = readdir_limit(op);
  cookie = listing.cursor.locate(op.offset);
  if (op.offset == 0) listing.forget();
  if (cookie != listing.entries_after || op.offset == 0) listing.progress.begin();
  return take_kept(listing);
}

void Batch::finish(Listing& listing, Outcome& outcome) {
  listing.cursor.ended_at(cookie);
  size_t at = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i].name = std::string_view(names).substr(at, name_sizes[i]);
    at += name_sizes[i];
  }
  outcome.entries = entries;
  outcome.result = entries.size();
}

}  // namespace fsr::nfs
