// SPDX-License-Identifier: Apache-2.0
#include "plan/dependencies.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <string>

#include "util/check.hpp"

namespace fsr {

constexpr size_t kFirstTable = 1 << 13;  // entries; the table then fits into a core's cache
constexpr size_t kLockRanges = 64;       // ranges of one file that are distinguished; further ones count as the whole file
constexpr uint32_t kLookBack = 8;        // entries of a list that are searched for an earlier operation of the same stream

// Returns where to look first for `key`. The facets of an object are neighbours in the table, which helps the cache.
static size_t slot_of(uint64_t key, size_t mask) {
  uint64_t h = (key >> 3) * 0x9e3779b97f4a7c15ull;
  return size_t((h ^ h >> 32) + (key & 7)) & mask;
}

Dependencies::Dependencies(uint32_t slots, bool identities_only, ObjectSet& known)
    : slots_(slots), table_(kFirstTable), identities_only_(identities_only), known_(known) {
  kept_.reserve(table_.size() / 2);
}

Dependencies::~Dependencies() {
  for (Resource& r : table_) {
    free_list(r.sharing);
    free_list(r.changing);
  }
}

void Dependencies::free_list(List& list) {
  if (list.capacity > List::kInline) delete[] list.heap;
  list.size = 0;
  list.capacity = List::kInline;
}

void Dependencies::finished(uint32_t slot) {
  FSR_CHECK(slot < slots_.size(), "slot " + std::to_string(slot));
  ++slots_[slot].generation;
}

size_t Dependencies::memory() const {
  return (table_.capacity() + kept_.capacity()) * sizeof(Resource) + slots_.size() * sizeof(Slot);
}

Dependencies::Resource& Dependencies::find(uint64_t key) {
  for (;;) {
    size_t mask = table_.size() - 1;
    for (size_t i = slot_of(key, mask);; i = (i + 1) & mask) {
      if (table_[i].key == key) return table_[i];
      if (table_[i].key) continue;
      if (used_ * 2 >= table_.size()) break;
      ++used_;
      table_[i].key = key;
      return table_[i];
    }
    sweep();
  }
}

void Dependencies::drop_finished(List& list) {
  Ref* items = list.items();
  list.size = uint32_t(std::remove_if(items, items + list.size, [this](Ref r) { return !live(r); }) - items);
  if (!list.size) free_list(list);
}

// Removes resources without unfinished operations. Doubles the table if more than a quarter of it remains in use.
void Dependencies::sweep() {
  kept_.clear();
  for (Resource& r : table_) {
    if (!r.key) continue;
    drop_finished(r.sharing);
    drop_finished(r.changing);
    if (r.sharing.size || r.changing.size) kept_.push_back(r);
    r.key = 0;
    r.sharing = r.changing = List();
  }
  if (kept_.size() * 4 > table_.size()) {
    table_ = std::vector<Resource>(table_.size() * 2);
    kept_.reserve(table_.size() / 2);
  }
  size_t mask = table_.size() - 1;
  for (const Resource& r : kept_) {
    size_t i = slot_of(r.key, mask);
    while (table_[i].key) i = (i + 1) & mask;
    table_[i] = r;
  }
  FSR_CHECK(kept_.size() * 2 < table_.size(),
            std::to_string(kept_.size()) + " resources in a table of " + std::to_string(table_.size()));
  used_ = kept_.size();
  for (auto& [file, ranges] : lock_ranges_)
    std::erase_if(ranges, [this](const LockAccess& range) { return !remembered(range.key()); });
  std::erase_if(lock_ranges_, [](const auto& file) { return file.second.empty(); });
}

bool Dependencies::remembered(uint64_t key) const {
  const size_t mask = table_.size() - 1;
  size_t i = slot_of(key, mask);
  while (table_[i].key && table_[i].key != key) i = (i + 1) & mask;
  return table_[i].key == key;
}

// Adds waits for the operations of `list`, which conflict with the one that is entering. `drop`: it also removes those whose end
// is waited for. Later operations wait for the one that is entering instead.
void Dependencies::wait_for(List& list, const Access& access, bool drop, std::vector<Wait>& waits) {
  Ref* items = list.items();
  const Slot& self = slots_[self_];
  const bool content = parts_of_key(access.key).content;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < list.size; ++i) {
    Ref ref = items[i];
    if (!live(ref)) continue;
    if (ref.slot == self_) {  // the operation touches this resource twice
      items[kept++] = ref;
      continue;
    }
    Slot& other = slots_[ref.slot];
    const bool decided = access.decided || ref.decided;
    const bool ordered = other.end <= self.start || (decided && other.end != INT64_MAX);
    // A read that found the end of the file within the bytes of a write came before it.
    const bool came_before = accesses_.seen < accesses_.to && accesses_.seen < other.to;
    const bool same_bytes = content && !came_before && std::max(self.from, other.from) < std::min(accesses_.seen, other.to);
    const bool for_end = ordered || (same_bytes && other.end != INT64_MAX);
    if (!for_end) ++free_pairs_;
    bool covered = follows_stream_ && other.stream && other.thread == self.thread && other.end <= self.start;
    if (!covered && (for_end || other.start <= self.start)) {
      if (other.waiter == entered_) {
        FSR_CHECK(other.wait_index < waits.size() && waits[other.wait_index].slot == ref.slot, "the list of waits");
        waits[other.wait_index].for_end |= for_end;
      } else {
        FSR_CHECK(ref.slot < slots_.size(), "slot " + std::to_string(ref.slot));
        other.waiter = entered_;
        other.wait_index = uint32_t(waits.size());
        waits.push_back({ref.slot, for_end});
      }
    }
    if (!drop || !ordered || !(access.decided || (!ref.decided && other.end > held_since_))) items[kept++] = ref;
  }
  list.size = kept;
}

void Dependencies::append(List& list, bool decided) {
  const Slot& self = slots_[self_];
  const Ref ref{self_, decided, self.generation};
  Ref* items = list.items();
  // Replace an earlier operation of the same stream: it ends before this one is issued, so a wait for this one implies it. This
  // does not hold if an operation that started between the two is still to come.
  if (self.stream && !identities_only_) {
    uint32_t from = list.size > kLookBack ? list.size - kLookBack : 0;
    for (uint32_t i = from; i < list.size; ++i) {
      const Slot& other = slots_[items[i].slot];
      if (!live(items[i]) || (other.stream && other.thread == self.thread && other.end <= self.start &&
                              (decided || (!items[i].decided && other.end > held_since_)))) {
        items[i] = ref;
        return;
      }
    }
  }
  if (list.size == list.capacity) {
    if (list.capacity > List::kInline) {
      list.size = uint32_t(std::remove_if(items, items + list.size, [this](Ref r) { return !live(r); }) - items);
    }
    if (list.size * 2 >= list.capacity) {
      uint32_t capacity = list.capacity * 4;
      Ref* larger = new Ref[capacity];
      memcpy(larger, items, list.size * sizeof(Ref));
      uint32_t size = list.size;
      free_list(list);
      list.size = size;
      list.capacity = capacity;
      list.heap = larger;
    }
  }
  list.items()[list.size++] = ref;
}

void Dependencies::enter(const Op& op, uint32_t slot, int64_t held_since, bool stream_held, std::vector<Wait>& waits) {
  FSR_CHECK(slot < slots_.size(), "slot " + std::to_string(slot));
  waits.clear();
  ++entered_;
  self_ = slot;
  Slot& self = slots_[slot];
  self.thread = op.thread;
  self.start = op.start;
  self.end = op.has(kOpUnfinished) ? INT64_MAX : op.end();
  self.stream = !op.has(kOpKernel);
  self.waiter = entered_;  // so that it never waits for itself
  collect_accesses(op, known_, locked_, nameless_, accesses_);
  self.from = accesses_.from;
  self.to = accesses_.to;
  for (const Access& access : accesses_) {
    if (identities_only_ && !access.identity) continue;
    const bool own_stream = self.stream && &access == accesses_.begin();
    held_since_ = own_stream && !stream_held ? INT64_MIN : held_since;
    follows_stream_ = self.stream && !own_stream && !identities_only_;
    Resource& resource = find(access.key);
    switch (access.mode) {
      case Access::shared:
        wait_for(resource.changing, access, false, waits);
        append(resource.sharing, access.decided);
        break;
      case Access::change:
        wait_for(resource.sharing, access, false, waits);
        append(resource.changing, access.decided);
        break;
      case Access::exclusive:
        wait_for(resource.sharing, access, true, waits);
        wait_for(resource.changing, access, true, waits);
        append(resource.changing, access.decided);
        break;
    }
  }
  if (!accesses_.lock.object || identities_only_) return;
  held_since_ = held_since;
  follows_stream_ = self.stream;
  enter_lock(accesses_.lock, waits);
}

// Adds the access under its own range, and waits for conflicting ones under every range that overlaps it.
void Dependencies::enter_lock(const LockAccess& access, std::vector<Wait>& waits) {
  LockAccess own = access;
  if (auto file = lock_ranges_.find(own.object); file != lock_ranges_.end()) {
    auto known = [&](const LockAccess& range) { return range.same_range(own); };
    if (file->second.size() >= kLockRanges && std::ranges::none_of(file->second, known)) own.start = 0, own.end = UINT64_MAX;
    met_.clear();
    std::ranges::copy_if(file->second, std::back_inserter(met_), [&](const LockAccess& range) { return range.overlaps(own); });
    for (const LockAccess& range : met_) {  // a copy, because find() may remove ranges
      Resource& resource = find(range.key());
      const Access how{.key = range.key(), .mode = own.mode};
      // This operation replaces those of `range` only if every later access that overlaps `range` overlaps `own` as well.
      const bool stands = own.mode == Access::exclusive && range.within(own);
      wait_for(resource.changing, how, stands, waits);
      if (own.mode == Access::exclusive) wait_for(resource.sharing, how, stands, waits);
    }
  }
  Resource& resource = find(own.key());
  append(own.mode == Access::exclusive ? resource.changing : resource.sharing, true);
  std::vector<LockAccess>& ranges = lock_ranges_[own.object];
  if (std::ranges::none_of(ranges, [&](const LockAccess& range) { return range.same_range(own); })) ranges.push_back(own);
}

}  // namespace fsr
