// SPDX-License-Identifier: Apache-2.0
// Counts the names that were made, removed or renamed in a directory while it was listed in several calls. POSIX leaves open
// whether such a listing shows them (readdir(3p)), and a target with another order of entries shows others than the capture has.
//
// Memory: the listings that have begun and not ended. Use from one thread at a time.
#pragma once

#include <unordered_map>

#include "plan/name_views.hpp"

namespace fsr {

class ListingChanges {
 public:
  // Takes operations in order of effect. If `op` ends a listing, returns how many names changed in its directory since it began;
  // otherwise 0. A name that was made and removed counts twice.
  uint64_t note(const Op& op) {
    if (op.kind == OpKind::readdir || op.kind == OpKind::readdirplus) return listed(op);
    if (listings_.empty()) return 0;
    if (op.kind == OpKind::releasedir) end(op.handle);
    if (changes_names(op)) changed(op);
    return 0;
  }

 private:
  struct Directory {
    uint64_t changes = 0;
    unsigned listings = 0;  // that are going on
  };
  struct Listing {
    ObjectId directory = kNoObject;
    uint64_t changes_before = 0;
  };

  uint64_t listed(const Op& op) {
    if (!op.handle || !op.object || op.error) return 0;
    if (op.offset == 0) {
      end(op.handle);
      Directory& directory = directories_[op.object];
      ++directory.listings;
      listings_[op.handle] = {op.object, directory.changes};
    }
    return op.result == 0 ? end(op.handle) : 0;
  }
  uint64_t end(HandleId handle) {
    const auto listing = listings_.find(handle);
    if (listing == listings_.end()) return 0;
    const auto directory = directories_.find(listing->second.directory);
    const uint64_t changes = directory->second.changes - listing->second.changes_before;
    if (--directory->second.listings == 0) directories_.erase(directory);
    listings_.erase(listing);
    return changes;
  }
  void changed(const Op& op) {
    NameView views[kMaxViews];
    const unsigned count = name_views(op, views);
    for (unsigned i = 0; i < count; ++i) {
      if (views[i].name.empty()) continue;
      const auto directory = directories_.find(views[i].parent);
      if (directory != directories_.end()) ++directory->second.changes;
    }
  }

  std::unordered_map<ObjectId, Directory> directories_;  // those that are being listed
  std::unordered_map<HandleId, Listing> listings_;
};

}  // namespace fsr
