// SPDX-License-Identifier: Apache-2.0
// Inside of LiveState, shared by its rules (live_state.cpp) and its serial form (live_serial.cpp).
#pragma once

#include <compare>
#include <map>
#include <unordered_map>

#include "live_tables.hpp"
#include "open_listings.hpp"

namespace fsr {

struct LiveState::Impl {
  // Locks of an object, those of one owner side by side and in order of their ranges.
  struct LockKey {
    bool flock;
    uint64_t owner;  // the open instance of flock(2)
    uint64_t offset;
    static LockKey of(const LiveLock& l) { return {l.flock, l.flock ? l.handle : l.owner, l.offset}; }
    bool same_owner(const LockKey& k) const { return flock == k.flock && owner == k.owner; }
    auto operator<=>(const LockKey&) const = default;
  };
  using Locks = std::map<LockKey, LiveLock>;

  Discovered discovered;
  Slab<LiveObject> objects;
  Slab<LiveName> names;
  Slab<LiveOpen> opens;
  std::unordered_map<ObjectId, Locks> locks;
  OpenListings listings;
  std::unordered_map<ObjectId, uint32_t> children;  // known names in a directory
  uint32_t hand = 0;                                // position in `names` at which forget_unused() goes on
  size_t lock_count = 0;                            // in `locks`
  size_t text = 0;                                  // bytes of names and targets
  size_t limit = SIZE_MAX;                          // of memory()
  ObjectId highest = kRootObject;                   // numbers are dense: what lies below has been seen

  LiveObject* find(ObjectId id);
  LiveObject& take(ObjectId id);  // finds or adds
  LiveName* find_name(const NamePlace& at);
  void apply(const Op& op);
  bool grants(const Op& op) const;
  size_t memory() const;
  void forget_unused(size_t bytes, size_t steps);
  void check_size() const {
    if (limit != SIZE_MAX && memory() > limit) too_large();
  }
  void serialize(const Sink& sink) const;
  bool restore(std::string_view serialized);
  void rename_into(Impl& to, const Renaming& renaming) const;

 private:
  [[noreturn]] void too_large() const;
  void discover(ObjectId parent, std::string_view name, ObjectId id, uint32_t type);
  void forget_nameless(LiveObject& object);
  void point(LiveObject& object, std::string_view target);
  void drop_locks(ObjectId id);
  void bind(const NamePlace& at, ObjectId id, uint32_t type);
  void add_name(const NamePlace& at, ObjectId id, uint32_t type);
  void unbind(const NamePlace& at);
  void unbind(const NamePlace& at, LiveName& name);
  void drop_name_of(ObjectId id);
  void learn(ObjectId id, const Attr* attr);
  uint32_t type_of(const Op& op, ObjectId id);
  void found(ObjectId parent, std::string_view name, ObjectId id, const Op& op, uint32_t type);
  void met(ObjectId id, const Attr* attr, uint32_t type);
  void made(const Op& op, uint32_t type);
  void fresh(const Op& op, uint32_t type);
  void opened(const Op& op, bool directory);
  void closed(const Op& op);
  void grow(ObjectId id, uint64_t end);
  void allocated(const Op& op);
  void locked(const Op& op, bool flock);
  static void put_lock(Locks& held, LiveLock lock, uint64_t from, uint64_t end);
  void unlock_owner(const Op& op);
  void renamed(const Op& op);
  void removed(const Op& op, uint32_t type);
  void listed(const Op& op);
  void refused(const Op& op);
};

}  // namespace fsr
