// SPDX-License-Identifier: Apache-2.0
// A set of object ids. Ids are dense, so it is a bit for each, in pages made on demand. Not thread-safe.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <memory>
#include <unordered_map>

#include "../op.hpp"

namespace fsr {

class ObjectSet {
 public:
  bool contains(ObjectId id) const {
    if (id >> kPageBits == recent_id_) return recent_->test(id & kMask);
    auto found = pages_.find(id >> kPageBits);
    if (found == pages_.end()) return false;
    recent_id_ = found->first;
    recent_ = found->second.get();
    return recent_->test(id & kMask);
  }
  bool insert(ObjectId id) {  // false: was there already
    if (contains(id)) return false;
    std::unique_ptr<Page>& page = pages_[id >> kPageBits];
    if (!page) page = std::make_unique<Page>();
    page->set(id & kMask);
    ++count_;
    return true;
  }
  void merge(const ObjectSet& other) {
    for (const auto& [id, theirs] : other.pages_) {
      std::unique_ptr<Page>& page = pages_[id];
      if (!page) page = std::make_unique<Page>();
      count_ -= page->count();
      *page |= *theirs;
      count_ += page->count();
    }
  }
  size_t size() const { return count_; }

 private:
  static constexpr unsigned kPageBits = 15;
  static constexpr ObjectId kMask = (1u << kPageBits) - 1;
  using Page = std::bitset<1u << kPageBits>;
  std::unordered_map<ObjectId, std::unique_ptr<Page>> pages_;
  mutable ObjectId recent_id_ = ~ObjectId(0);
  mutable Page* recent_ = nullptr;
  size_t count_ = 0;
};

}  // namespace fsr
