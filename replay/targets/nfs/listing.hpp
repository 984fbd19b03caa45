// SPDX-License-Identifier: Apache-2.0
// Listings. A recorded readdir has its own buffer and cursor, which mean nothing to the server. Each takes as many entries as the
// recorded one returned, from where the recorded cursor leads; what the server sent beyond that waits in the open instance, as in
// a client's page cache, so that a recorded listing in any number of calls lists everything once.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/target.hpp"
#include "nfs/nfs3.hpp"
#include "targets/dir_cursor.hpp"
#include "targets/listing_progress.hpp"

namespace fsr::nfs {

// The part of a listing that the server has sent and no operation has taken yet, and where the recorded cursors lead to.
struct Listing {
  std::mutex mutex;
  DirCursor cursor;  // to the server's cookies
  uint64_t verifier = 0;
  std::string names;  // of `entries`, one after the other
  struct BufferedEntry {
    uint32_t name_size;
    uint32_t type;
    uint64_t fileid, cookie;
  };
  std::vector<BufferedEntry> entries;
  size_t taken = 0, taken_names = 0;  // of entries, of names
  uint64_t entries_after = 0;         // the cookie that entries[taken] follows
  bool eof = false;                   // nothing follows `entries`
  ListingProgress progress;

  void forget() {  // forgets the entries kept from the server's replies
    names.clear();
    entries.clear();
    taken = taken_names = 0;
    entries_after = 0;
    eof = false;
  }
};

// The entries that one operation takes from a listing.
struct Batch {
  ObjectId object = kNoObject;     // the directory
  std::string_view hidden_prefix;  // names of our own, which no operation knows
  uint64_t cookie = 0;             // of the last entry taken or passed over
  size_t wanted = 0;               // entries
  std::string names;
  std::vector<uint32_t> name_sizes;
  std::vector<DirEntry> entries;

  // Takes what the listing has kept. True: nothing more is wanted, or there is nothing more.
  bool take_kept(Listing& listing);
  // True if the server's reply, which was not the last one, makes progress.
  bool gets_on(Listing& listing, std::span<const Entry> reply) const;
  // Keeps it in the listing, and takes of it as above.
  bool take_reply(Listing& listing, std::span<const Entry> reply, uint64_t verifier, bool eof);
  // Begins at the recorded cursor. True: take_kept() was enough.
  bool begin(Listing& listing, const Op& op);
  void finish(Listing& listing, Outcome& outcome);

 private:
  bool take(std::string_view name, uint64_t fileid, uint32_t type, uint64_t at);
};

constexpr uint64_t kSmallestReaddir = 4096;  // bytes of a request

}  // namespace fsr::nfs
