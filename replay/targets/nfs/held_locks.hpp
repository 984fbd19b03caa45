// SPDX-License-Identifier: Apache-2.0
// The locks that this client has on an NFSv3 server, which knows no open files. Determines the locks that a close releases, those
// to request again when the server may have forgotten them, and those that remain at the end. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/lock_table.hpp"
#include "nfs/rpc.hpp"
#include "op.hpp"

namespace fsr::nfs {

struct LockOwner {
  uint64_t id = 0;     // Op::owner, or the open instance
  bool flock = false;  // true: its lock covers the complete file
};

class HeldLocks {
 public:
  explicit HeldLocks(uint32_t first_number) : next_number_(first_number & INT32_MAX) {}

  // Begins a request about the owner's locks on that object, which answered() ends. Returns the number by which the server knows
  // the owner. The number stays the same while the owner has a lock or such a request.
  int32_t ask(ObjectId object, LockOwner owner);
  void answered(ObjectId object, LockOwner owner);
  // Adds a lock on [start, end], both inclusive, before answered(). `session`: the session that got the lock.
  void locked(ObjectId object, LockOwner owner, uint64_t start, uint64_t end, bool exclusive, HandleId handle,
              const void* session, const Identity& who);
  void unlocked(ObjectId object, LockOwner owner, uint64_t start, uint64_t end);
  bool holds(ObjectId object, LockOwner owner) const;
  // Finds an owner with a lock that was taken through the open instance. False: there is none.
  bool through(ObjectId object, HandleId handle, LockOwner* owner) const;
  bool used() const { return used_.load(std::memory_order_relaxed); }  // true: there has been a lock
  struct Held {
    ObjectId object;
    uint64_t key;    // key() of the owner
    int32_t number;  // number of the owner
    Identity who;
    uint64_t start, end;
    bool exclusive;
  };
  std::vector<Held> of_session(const void* session) const;
  // Returns the session of the owner's latest lock on the object. Null: it has none.
  const void* session_of(ObjectId object, LockOwner owner) const;
  // Returns the first bytes of a lock from `from` on that its owner no longer holds. None: it holds all of them.
  std::optional<LockTable::Span> released(const Held& lock, uint64_t from) const;
  void lost(const Held& lock);
  struct DroppedOwner {
    ObjectId object;
    int32_t number;
  };
  std::vector<DroppedOwner> take_all();

 private:
  struct Owner {
    int32_t number;
    uint32_t asked = 0;             // requests under way
    const void* session = nullptr;  // session of its latest lock
    Identity who = {};
  };
  struct LocksOfObject {
    std::map<uint64_t, Owner> owners;  // by key()
    LockTable held;
  };
  void forget_if_idle(ObjectId object, uint64_t key);
  static uint64_t key(LockOwner owner) { return owner.id ^ (owner.flock ? 1ull << 63 : 0); }

  mutable std::mutex mutex_;
  std::unordered_map<ObjectId, LocksOfObject> objects_;
  uint32_t next_number_;
  std::atomic<bool> used_{false};
};

}  // namespace fsr::nfs
