// SPDX-License-Identifier: Apache-2.0
// The directories that a thread has listed, with the entries that it has not used since: where a walk of a tree goes on. An entry
// is the hash of its name when learning, and its object when making up operations.
//
// Memory: 8 listings, 48 bytes an unused entry. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "model/symbol.hpp"

namespace fsr {

class Listings {
 public:
  // The entries that follow are those of this directory. A listing from its beginning takes the place of an earlier one.
  void begin(ObjectId directory, bool from_beginning) {
    auto known = std::find_if(listings_.begin(), listings_.end(), [&](const Listing& l) { return l.directory == directory; });
    Listing listing{directory, {}};
    if (known != listings_.end()) {
      if (!from_beginning) listing = std::move(*known);
      listings_.erase(known);
    }
    if (listings_.size() == kMost) listings_.erase(listings_.begin());
    listings_.push_back(std::move(listing));
  }
  // `type`: S_IFMT bits, shifted by 12; 0: not known.
  void add(uint64_t entry, uint8_t type) { listings_.back().unused[entry] = type; }

  // Returns a reference without a relation if the entry is none that waits for its use.
  Reference classify(ObjectId directory, uint64_t entry) const {
    for (size_t back = 0; back < listings_.size(); ++back) {
      const Listing& l = listings_[listings_.size() - 1 - back];
      if (l.directory != directory) continue;
      auto found = l.unused.find(entry);
      if (found == l.unused.end()) continue;
      const bool more = std::any_of(l.unused.begin(), l.unused.end(),
                                    [&](const auto& other) { return &other != &*found && other.second == found->second; });
      return {Relation::entry, uint8_t(back * 2 + !more)};
    }
    return {};
  }

  void use(ObjectId directory, uint64_t entry) {
    for (auto l = listings_.begin(); l != listings_.end(); ++l)
      if (l->directory == directory) {
        if (l->unused.erase(entry) && l->unused.empty()) listings_.erase(l);
        return;
      }
  }

  // Returns an entry that fits the reference and is `good`; 0: there is none. Forgets those that are `gone` from `directory`.
  // `any`: another listing, or the last entry in the place of an earlier one, will do.
  template <class Gone, class Good>
  uint64_t find(Reference reference, bool any, Gone gone, Good good) {
    for (size_t back = any ? 0 : reference.bucket / 2; back < listings_.size(); ++back) {
      Listing& l = listings_[listings_.size() - 1 - back];
      size_t there = 0;
      uint64_t found = 0;
      size_t tries = 0;
      for (auto entry = l.unused.begin(); entry != l.unused.end() && tries < kTries && there < 2; ++tries) {
        if (gone(l.directory, entry->first)) {
          entry = l.unused.erase(entry);
          continue;
        }
        if (good(entry->first) && ++there == 1) found = entry->first;
        ++entry;
      }
      if (found && (any || (there == 1) == (reference.bucket % 2 == 1))) return found;
      if (!any) break;
    }
    return 0;
  }

 private:
  static constexpr size_t kMost = 8, kTries = 256;
  struct Listing {
    ObjectId directory = kNoObject;
    std::map<uint64_t, uint8_t> unused;  // with their types
  };
  std::vector<Listing> listings_;  // the latest is the last
};

}  // namespace fsr
