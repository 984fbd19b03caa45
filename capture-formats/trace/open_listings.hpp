// SPDX-License-Identifier: Apache-2.0
// The listings that have begun and not ended, and the names that changed in their directories meanwhile. POSIX leaves open
// whether a listing shows names that are made or removed while it goes on (readdir(3p)); file systems do show names removed
// before.
//
// Memory: grows with the listings that go on, and with the names that change meanwhile. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "../op.hpp"
#include "../util/name_hash.hpp"

namespace fsr {

class OpenListings {
 public:
  bool empty() const { return listings_.empty(); }
  // Takes a successful readdir or readdirplus. If it ends a listing, returns the number of changes in its directory since the
  // listing began; otherwise 0. A name that was made and removed changed twice.
  uint64_t listed(const Op& op) {
    if (!op.handle || !op.object) return 0;
    if (op.offset == 0) {
      closed(op.handle);
      Directory& directory = directories_[op.object];
      ++directory.listings;
      listings_[op.handle] = {op.object, directory.changes};
    }
    return op.result == 0 ? closed(op.handle) : 0;
  }
  // Ends the listing of an open directory, if there is one. Returns as listed().
  uint64_t closed(HandleId handle) {
    const auto listing = listings_.find(handle);
    if (listing == listings_.end()) return 0;
    const auto directory = directories_.find(listing->second.directory);
    const uint64_t changes = directory->second.changes - listing->second.changes_before;
    if (--directory->second.listings == 0) {
      names_ -= directory->second.names.size();
      directories_.erase(directory);
    }
    listings_.erase(listing);
    return changes;
  }
  // Takes a name that was made, removed, or that now is of something else.
  void changed(ObjectId parent, std::string_view name) {
    const auto directory = directories_.find(parent);
    if (directory == directories_.end()) return;
    ++directory->second.changes;
    names_ += directory->second.names.insert(name_hash(parent, name)).second;
  }
  // True: that name changed while its directory was listed, and a listing of it goes on.
  bool has_changed(ObjectId parent, std::string_view name) const {
    const auto directory = directories_.find(parent);
    return directory != directories_.end() && directory->second.names.contains(name_hash(parent, name));
  }

  size_t memory() const { return (directories_.size() + listings_.size() + names_) * kEach; }  // bytes, about

 private:
  static constexpr size_t kEach = 100;
  struct Directory {
    uint64_t changes = 0;
    unsigned listings = 0;  // that go on
    std::unordered_set<uint64_t> names;
  };
  struct Listing {
    ObjectId directory = kNoObject;
    uint64_t changes_before = 0;
  };
  std::unordered_map<ObjectId, Directory> directories_;
  std::unordered_map<HandleId, Listing> listings_;
  size_t names_ = 0;  // of all directories
};

}  // namespace fsr
