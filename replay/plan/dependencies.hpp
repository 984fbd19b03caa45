// SPDX-License-Identifier: Apache-2.0
// Which unfinished operations an operation must wait for, found online as operations enter the window in order of effect.
//
// For each resource (accesses.hpp) the unfinished operations that touched it are kept in two lists: those that share it and those
// that changed it. A pair that conflicts gives a wait for the earlier one's end if the capture shows that it had ended when the
// later one started, or if their order decides an outcome; else a wait for its start if it had started first; else none.
// A change that waited for others' ends stands for them afterwards, and what ended earlier in the operation's own stream is
// covered by its wait for that stream. This is exact: a wait that is left out follows from others.
//
// A range of bytes that was locked is a resource of its own as long as it is remembered, and conflicts with those that overlap
// it.
//
// Operations are named by slots of the window. Memory follows the window, not the length: a resource whose operations have all
// finished is forgotten at the next sweep. One thread at a time.
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
  bool for_end = true;  // false: only for its start
};

class Dependencies {
 public:
  // `slots`: size of the window. `identities_only`: only what teaches ids comes before what uses them (Order::time).
  // `known`: objects that the target knows already; extended. Must outlive this.
  Dependencies(uint32_t slots, bool identities_only, ObjectSet& known);
  ~Dependencies();

  // `op` takes `slot`, which is free. Fills `waits`, each slot at most once. `held_since`: latest start of the
  // operations that are still held back by the order of effect, INT64_MIN when there are none. `stream_held`: some of these may
  // be of op's own thread.
  void enter(const Op& op, uint32_t slot, int64_t held_since, bool stream_held, std::vector<Wait>& waits);
  void finished(uint32_t slot);  // the slot is free again

  uint64_t free_pairs() const { return free_pairs_; }  // conflicting pairs that overlapped and that no outcome orders
  size_t resources() const { return used_; }           // remembered now
  size_t memory() const;                               // bytes

 private:
  struct Ref {
    uint32_t slot : 31;
    uint32_t decided : 1;  // as Access::decided
    uint32_t generation;
  };
  // Unfinished operations, two of them in place.
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
    uint64_t key = 0;  // 0: empty place of the table
    List sharing, changing;
  };
  struct Slot {
    uint32_t generation = 0;
    ThreadId thread = 0;
    int64_t start = 0, end = 0;
    bool stream = false;  // belongs to its thread's stream
    uint64_t waiter = 0;  // the latest operation that found it, and which of its waits that is
    uint32_t wait_index = 0;
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
  std::vector<Resource> table_, kept_;  // kept_: for sweep() alone
  size_t used_ = 0;
  bool identities_only_;
  ObjectSet& known_;
  ObjectSet locked_;
  ObjectSet nameless_;                                                 // that were made without a name or lost one
  std::unordered_map<ObjectId, std::vector<LockAccess>> lock_ranges_;  // that are resources
  std::vector<LockAccess> met_;                                        // for enter_lock() alone
  AccessList accesses_;
  uint32_t self_ = 0;
  int64_t held_since_ = 0;       // latest start of what is held and may touch the resource at hand
  bool follows_stream_ = false;  // of the operation entering: its wait for its own stream is in place
  uint64_t entered_ = 0;
  uint64_t free_pairs_ = 0;
};

}  // namespace fsr
