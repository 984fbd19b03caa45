// SPDX-License-Identifier: Apache-2.0
// Turns start order into order of effect, so that every dependency points backwards and a look-ahead of any size can't deadlock.
//
// An operation takes effect between its start and its end. Most operations pass at their start. A successful change is held until
// its recorded end if it is of names (a create that made its file, mkdir, mknod, symlink, link, unlink, rmdir, rename, setxattr,
// removexattr) or of locks.
//
// An operation is held as well if its outcome does not fit the present state of the names that it saw. If that state is not
// known, the changes that overlap the operation show what it was. The operation passes right after the change that makes its
// outcome fit, whichever of the two started first. The same applies to a refused lock request if there is no lock that explains
// it.
//
// A held operation passes at its end. If its outcome does not fit then, held changes that make it fit pass first. If no outcome
// decides, an overlapping pair stays in the order of these rules, and dependencies leave it free.
//
// Memory: the held operations, at most as many as were in flight at the same time in the capture; a cache of the states of names;
// the locks held (lock_states.hpp); operations that are looked ahead (lookahead.hpp). It is bounded for any capture. Use from one
// thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/op_copy.hpp"
#include "plan/lock_states.hpp"
#include "plan/lookahead.hpp"
#include "plan/name_states.hpp"
#include "plan/name_views.hpp"

namespace fsr {

class Linearizer {
 public:
  // `by_start`: nothing is held, and operations come in the order of the source. Leaves out operations that started before
  // `from`. Ends at the first operation that started at or after `to`.
  Linearizer(OpSource& source, int64_t from, int64_t to, bool by_start = false);
  ~Linearizer();

  // Returns the next operation in order of effect, valid until the next call. Null: the end.
  const Op* next();
  // Returns the latest start of the held operations. INT64_MIN: none is held.
  int64_t held_since() const { return held_since_; }
  // False: no held operation belongs to that thread. True: one may.
  bool holds(ThreadId thread) const { return held_of_[thread % kThreads] != 0; }

 private:
  struct Held {
    OpCopy copy;
    int64_t release = 0;
    uint64_t rank = 0;  // order of arrival, for equal release times
    NameView views[kMaxViews];
    unsigned view_count = 0;
    LockUse lock;
    bool change = false;
    bool asked = false;  // due() is considering it already; ends circles

    std::span<const NameView> seen() const { return {views, view_count}; }
  };
  struct Earlier {
    bool operator()(const Held* a, const Held* b) const {
      return a->release != b->release ? a->release < b->release : a->rank < b->rank;
    }
  };
  using Index = std::unordered_multimap<uint64_t, Held*>;

  bool overlaps(const Op& op);
  bool must_hold(const Op& op);
  void hold(const Op& op);
  void index(Held& held, bool add);
  const Op* emit(Held& held);
  const Op* complete(const Op& op);
  static uint64_t lock_key(const LockUse& lock);
  void passed(const Op& op, std::span<const NameView> views);

  // True: names and locks are as the outcome of `op` says. `at_end`: `op` is at its end, so that only held changes can overlap
  // it, and none to come.
  bool fits(const Op& op, std::span<const NameView> views, bool at_end);
  NameState state_for(const Op& op, const NameView& view, bool at_end);
  bool name_fits(const Op& op, const NameView& view, bool at_end);
  bool directory_fits(const Op& op, bool at_end);
  void wake(uint64_t key, std::span<const NameView> changes);
  Held& due(Held& held);
  Held* bringing(Held& held);
  Held* lacking(const Held& held);
  Held* bringing_lock(const LockUse& wanted);
  static std::vector<Held*> found(const Index& in, uint64_t key);

  Lookahead ahead_;
  bool by_start_;
  NameStates states_;
  LockStates locks_;
  std::set<Held*, Earlier> held_;
  Index changes_;   // held changes, by each_key()
  Index watchers_;  // held operations that are no changes, by the keys that they look at
  std::vector<std::unique_ptr<Held>> pool_;
  std::vector<Held*> free_;
  Held* emitted_ = nullptr;
  Op completed_;
  uint64_t rank_ = 0;
  int64_t held_since_ = INT64_MIN;
  static constexpr size_t kThreads = 256;
  std::array<uint32_t, kThreads> held_of_{};  // number of held operations, by thread modulo kThreads
};

}  // namespace fsr
