// SPDX-License-Identifier: Apache-2.0
// Finds the operations that an operation must wait for, while operations enter the window one by one in order of effect.
//
// For each resource (accesses.hpp) two lists hold the unfinished operations that touched it: those that shared it and those that
// changed it. An operation B that enters may conflict with an operation A of these lists. B waits for A's end if A had ended
// before B started in the capture. B also waits for A's end if their order decides an outcome and the capture has A's end. The
// order of a read and a write, or of two writes, decides an outcome if they share bytes.
// Otherwise B waits for A's start if A started first, and does not wait if it did not.
//
// Two kinds of waits are left out, because other waits imply them. If a change has waited for the ends of some operations, later
// operations wait for that change instead. If A ended before B in B's own stream, B's wait for its stream covers A.
//
// Each byte range that was locked is a resource, too, as long as it is remembered. It conflicts with the ranges that it overlaps.
//
// An operation is identified by its slot in the window. Memory depends on the size of the window, not on the length of the trace:
// sweep() forgets resources whose operations have all finished. Use from one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "op.hpp"
#include "plan/accesses.hpp"
#include "util/object_set.hpp"

namespace fsr {

struct Wait {
  uint32_t slot = 0;
  bool for_end = true;  // false: wait only until the operation in `slot` has started
};

class Dependencies {
 public:
  // `slots`: size of the window. `identities_only`: an operation waits only for those that add the ids it uses (Order::time).
  // `known`: objects that the target knows already. enter() adds to it. It must outlive this object.
  Dependencies(uint32_t slots, bool identities_only, ObjectSet& known);
  ~Dependencies();

  // Puts `op` into `slot`, which must be free. Replaces `waits` by the waits of `op`, each slot at most once. `held_since`:
  // latest start of the operations that the Linearizer holds back. INT64_MIN: there are none. `stream_held`: one of them may
  // belong to op's own thread.
  void enter(const Op& op, uint32_t slot, int64_t held_since, bool stream_held, std::vector<Wait>& waits);
  void finished(uint32_t slot);  // frees the slot

  uint64_t free_pairs() const { return free_pairs_; }  // conflicting pairs without a wait for the end
  size_t resources() const { return used_; }           // number of resources in the table
  size_t memory() const;                               // bytes

 private:
  struct Ref {
    uint32_t slot : 31;
    uint32_t decided : 1;  // Access::decided of the operation
    uint32_t generation;
  };
  // List of unfinished operations. Up to two are stored without an allocation.
  struct List {
    uint32_t size = 0, capacity = kInline;
    static constexpr uint32_t kInline = 2;
    union {
      Ref own[kInline];
      Ref* heap;
    };
    List() {}
    Ref* items() { return capacity > kInline ? heap : own; }
  };
  struct alignas(64) Resource {
    uint64_t key = 0;  // 0: this entry of the table is empty
    List sharing, changing;
  };
  struct Slot {
    uint32_t generation = 0;
    ThreadId thread = 0;
    int64_t start = 0, end = 0;
    uint64_t from = 0, to = 0;  // AccessList::from, to
    bool stream = false;        // belongs to its thread's stream; false: the kernel issued it
    uint64_t waiter = 0;        // number (`entered_`) of the latest operation that waits for this one
    uint32_t wait_index = 0;    // index of this wait in the `waits` of that operation
  };

  void enter_lock(const LockAccess& access, std::vector<Wait>& waits);
  bool remembered(uint64_t key) const;
  bool live(Ref ref) const { return slots_[ref.slot].generation == ref.generation; }
  Resource& find(uint64_t key);
  void sweep();
  void wait_for(List& list, const Access& access, bool drop, std::vector<Wait>& waits);
  void append(List& list, bool decided);
  void drop_finished(List& list);
  static void free_list(List& list);

  std::vector<Slot> slots_;
  std::vector<Resource> table_, kept_;  // kept_: used by sweep() only
  size_t used_ = 0;
  bool identities_only_;
  ObjectSet& known_;
  ObjectSet locked_;
  ObjectSet nameless_;                                                 // objects that were made without a name or lost one
  std::unordered_map<ObjectId, std::vector<LockAccess>> lock_ranges_;  // the ranges of each file that are resources
  std::vector<LockAccess> met_;                                        // used by enter_lock() only
  AccessList accesses_;
  uint32_t self_ = 0;
  int64_t held_since_ = 0;       // latest start of the held operations that may touch the current resource
  bool follows_stream_ = false;  // true: the operation that is entering waits for its own stream already
  uint64_t entered_ = 0;
  uint64_t free_pairs_ = 0;
};

}  // namespace fsr
