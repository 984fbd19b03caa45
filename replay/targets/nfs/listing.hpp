// SPDX-License-Identifier: Apache-2.0
// Listings of directories. The buffer and cursor of a recorded readdir mean nothing to the server. Each readdir takes as many
// entries as the recorded one returned, from the position that the recorded cursor maps to. The open instance keeps further
// entries that the server sent, as a client's page cache does. So a recorded listing in any number of calls lists each entry
// once.
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

// The listing of an open directory: entries that the server has sent and no operation has taken yet, and a map of cursors.
struct Listing {
  std::mutex mutex;
  DirCursor cursor;  // maps recorded cursors to the server's cookies
  uint64_t verifier = 0;
  std::string names;  // names of `entries`, one after another
  struct BufferedEntry {
    uint32_t name_size;
    uint32_t type;
    uint64_t fileid, cookie;
  };
  std::vector<BufferedEntry> entries;
  size_t taken = 0, taken_names = 0;  // number of taken entries, bytes of taken names
  uint64_t entries_after = 0;         // the cookie that entries[taken] follows
  bool eof = false;                   // `entries` has the last ones
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
  std::string_view hidden_prefix;  // prefix of hidden names, which are not listed
  uint64_t cookie = 0;             // cookie of the last entry that was taken or skipped
  size_t wanted = 0;               // entries
  std::string names;
  std::vector<uint32_t> name_sizes;
  std::vector<DirEntry> entries;

  // Takes entries that the listing has kept. True: the batch is complete, or the directory has no more entries.
  bool take_kept(Listing& listing);
  // True if the server's reply, which was not the last one, makes progress.
  bool gets_on(Listing& listing, std::span<const Entry> reply) const;
  // Keeps the server's reply in the listing, and takes entries from it. True: as for take_kept().
  bool take_reply(Listing& listing, std::span<const Entry> reply, uint64_t verifier, bool eof);
  // Begins at the recorded cursor. True: take_kept() was enough.
  bool begin(Listing& listing, const Op& op);
  void finish(Listing& listing, Outcome& outcome);

 private:
  bool take(std::string_view name, uint64_t fileid, uint32_t type, uint64_t at);
};

constexpr uint64_t kSmallestReaddir = 4096;  // bytes of a request

}  // namespace fsr::nfs
