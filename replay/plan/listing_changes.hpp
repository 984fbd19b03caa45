// SPDX-License-Identifier: Apache-2.0
// Counts the names that were made, removed or renamed in a directory while it was listed. Whether the listing shows them depends
// on the order of entries, in which a target differs from the captured file system.
//
// Memory: OpenListings. Use from one thread at a time.
#pragma once

#include "plan/name_views.hpp"
#include "trace/open_listings.hpp"

namespace fsr {

class ListingChanges {
 public:
  // Takes operations in order of effect. If `op` ends a listing, returns the number of changes in its directory since it began;
  // otherwise 0.
  uint64_t note(const Op& op) {
    if (op.kind == OpKind::readdir || op.kind == OpKind::readdirplus) return op.error ? 0 : listings_.listed(op);
    if (listings_.empty()) return 0;
    if (op.kind == OpKind::releasedir) listings_.closed(op.handle);
    if (!changes_names(op)) return 0;
    NameView views[kMaxViews];
    const unsigned count = name_views(op, views);
    for (unsigned i = 0; i < count; ++i)
      if (!views[i].name.empty()) listings_.changed(views[i].parent, views[i].name);
    return 0;
  }

 private:
  OpenListings listings_;
};

}  // namespace fsr
