// SPDX-License-Identifier: Apache-2.0
// Maps a recorded identity (ObjectId, HandleId) to the target's own: a file handle, a descriptor, a fid.
//
// Thread-safe; shared by all sessions of a target. Each shard is an open-addressed table under its own mutex, so that sessions
// rarely wait for each other. An entry costs no allocation of its own. Memory follows the number of live entries. Keys are not 0.
// Values are default-constructible and movable. A function that is passed in may use its reference only during the call, and must
// not call the same map.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "util/check.hpp"

namespace fsr {

template <class Value>
class IdMap {
 public:
  // Copies the value of `id`. False: the map has no such id.
  bool get(uint64_t id, Value* value) const {
    const Shard& shard = shard_of(id);
    std::lock_guard lock(shard.mutex);
    const Slot* slot = shard.find(id);
    if (slot) *value = slot->value;
    return slot != nullptr;
  }

  bool contains(uint64_t id) const {
    const Shard& shard = shard_of(id);
    std::lock_guard lock(shard.mutex);
    return shard.find(id) != nullptr;
  }

  // Adds or replaces.
  void set(uint64_t id, Value value) {
    update(id, [&](Value& there) { there = std::move(value); });
  }

  // Calls f(Value&) under the shard's lock if the map has the id. False: it has not.
  template <class F>
  bool visit(uint64_t id, F&& f) {
    Shard& shard = shard_of(id);
    std::lock_guard lock(shard.mutex);
    Slot* slot = shard.find(id);
    if (slot) f(slot->value);
    return slot != nullptr;
  }

  // Calls f(Value&) under the shard's lock, on a new default value if the map has no such id.
  template <class F>
  void update(uint64_t id, F&& f) {
    Shard& shard = shard_of(id);
    std::lock_guard lock(shard.mutex);
    f(shard.find_or_add(id).value);
  }

  // Removes the entry of `id`. `removed`: receives the value; may be null. False: the map has no such id.
  bool erase(uint64_t id, Value* removed = nullptr) {
    Shard& shard = shard_of(id);
    std::lock_guard lock(shard.mutex);
    Slot* slot = shard.find(id);
    if (!slot) return false;
    if (removed) *removed = std::move(slot->value);
    shard.remove(slot);
    return true;
  }

  // Calls bool f(Value&) under the shard's lock if the map has the id. Removes the entry if that returns true.
  template <class F>
  void erase_if(uint64_t id, F&& f) {
    Shard& shard = shard_of(id);
    std::lock_guard lock(shard.mutex);
    Slot* slot = shard.find(id);
    if (slot && f(slot->value)) shard.remove(slot);
  }

  // Calls f(uint64_t id, Value&) for every entry, one shard locked at a time.
  template <class F>
  void for_each(F&& f) {
    for (Shard& shard : shards_) {
      std::lock_guard lock(shard.mutex);
      for (Slot& slot : shard.slots)
        if (slot.id) f(slot.id, slot.value);
    }
  }

  size_t size() const {
    size_t n = 0;
    for (const Shard& shard : shards_) {
      std::lock_guard lock(shard.mutex);
      n += shard.used;
    }
    return n;
  }

 private:
  static constexpr unsigned kShardBits = 6;

  struct Slot {
    uint64_t id = 0;  // 0 = free
    Value value{};
  };

  struct alignas(64) Shard {
    mutable std::mutex mutex;
    std::vector<Slot> slots;  // a power of two of them, at most 7/8 used
    size_t used = 0;

    size_t home(uint64_t id) const { return size_t(hash(id)) & (slots.size() - 1); }
    size_t next(size_t i) const { return (i + 1) & (slots.size() - 1); }

    const Slot* find(uint64_t id) const {
      if (used == 0 || id == 0) return nullptr;
      for (size_t i = home(id); slots[i].id; i = next(i))
        if (slots[i].id == id) return &slots[i];
      return nullptr;
    }
    Slot* find(uint64_t id) { return const_cast<Slot*>(std::as_const(*this).find(id)); }

    Slot& find_or_add(uint64_t id) {
      if (Slot* slot = find(id)) return *slot;
      if ((used + 1) * 8 > slots.size() * 7) grow();
      ++used;
      return *slot_of(id);
    }

    Slot* slot_of(uint64_t id) {
      size_t i = home(id);
      while (slots[i].id) i = next(i);
      slots[i].id = id;
      return &slots[i];
    }

    void grow() {
      std::vector<Slot> old(slots.empty() ? 8 : slots.size() * 2);
      old.swap(slots);
      for (Slot& slot : old)
        if (slot.id) slot_of(slot.id)->value = std::move(slot.value);
    }

    // Removes the entry and moves back later ones that would otherwise not be found behind the gap.
    void remove(Slot* slot) {
      FSR_CHECK(used > 0 && slot->id, std::to_string(used) + " entries");
      size_t gap = size_t(slot - slots.data());
      for (size_t i = next(gap); slots[i].id; i = next(i)) {
        size_t mask = slots.size() - 1;
        if (((i - home(slots[i].id)) & mask) < ((i - gap) & mask)) continue;  // its home lies after the gap
        slots[gap] = std::move(slots[i]);
        gap = i;
      }
      slots[gap] = Slot{};
      --used;
    }
  };

  // Spreads ids over the slots. Ids are usually dense, but those of a hostile trace may be chosen to collide.
  static uint64_t hash(uint64_t id) {
    id ^= id >> 32;
    id *= 0x9e3779b97f4a7c15u;
    return id >> 29;
  }
  Shard& shard_of(uint64_t id) { return shards_[id & ((1u << kShardBits) - 1)]; }
  const Shard& shard_of(uint64_t id) const { return shards_[id & ((1u << kShardBits) - 1)]; }

  std::array<Shard, 1u << kShardBits> shards_;
};

}  // namespace fsr
