// SPDX-License-Identifier: Apache-2.0
// Turns start order into order of effect, so that every dependency points backwards and a look-ahead of any size can't deadlock.
//
// An operation takes effect between its start and its end. Most may pass at their start. What changes names (a create that made
// its file, mkdir, mknod, symlink, link, unlink, rmdir, rename), takes a lock or gives one up is held until its recorded end. An
// operation that saw a name in another state than the names are in, or (where that is not known) than the changes that overlap it
// found, is held too, and passes right after the change that brings that state about, whichever of the two started first; so is a
// lock refused that nobody has. What is held passes at its end, and if names and locks are not then as its outcome says, after
// such held changes as bring that about. Where no outcome decides, an overlapping pair stays in the order of these rules, and
// dependencies leave it free.
//
// Memory: the held operations, at most as many as were under way at the same time in the capture, a cache of the states of names,
// locks held (lock_states.hpp), and what is looked ahead (lookahead.hpp); bounded whatever the capture did. One thread at a time.
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
  // With `by_start` nothing is held: operations come as the source has them. Leaves out what started before `from`, and ends at
  // the first operation that started at or after `to`.
  Linearizer(OpSource& source, int64_t from, int64_t to, bool by_start = false);
  ~Linearizer();

  // The next operation in order of effect, valid until the next call; null at the end.
  const Op* next();
  // Latest start of what is held; INT64_MIN when nothing is.
  int64_t held_since() const { return held_since_; }
  // False: none of what is held belongs to that thread.
  bool holds(ThreadId thread) const { return held_of_[thread % kThreads] != 0; }

 private:
  struct Held {
    OpCopy copy;
    int64_t release = 0;
    uint64_t rank = 0;  // order of arrival, decides between equal release times
    NameView views[kMaxViews];
    unsigned view_count = 0;
    LockUse lock;
    bool change = false;
    bool asked = false;  // whether it may pass: ends circles

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

  // What is to come counts as well as what is held, but for an operation that is at its end.
  bool fits(const Op& op, std::span<const NameView> views, bool at_end);
  NameState state_for(const Op& op, const NameView& view, bool at_end);
  bool name_fits(const Op& op, const NameView& view, bool at_end);
  bool directory_fits(const Op& op, bool at_end);
  void wake(uint64_t key, std::span<const NameView> changes);
  Held& due(Held& held);
  Held* bringing(Held& held);
  Held* bringing_lock(const LockUse& wanted);
  static std::vector<Held*> found(const Index& in, uint64_t key);

  Lookahead ahead_;
  bool by_start_;
  NameStates states_;
  LockStates locks_;
  std::set<Held*, Earlier> held_;
  Index changes_;   // held ones, by each_key()
  Index watchers_;  // held operations that are no changes, by what they look at
  std::vector<std::unique_ptr<Held>> pool_;
  std::vector<Held*> free_;
  Held* emitted_ = nullptr;
  Op completed_;
  uint64_t rank_ = 0;
  int64_t held_since_ = INT64_MIN;
  static constexpr size_t kThreads = 256;
  std::array<uint32_t, kThreads> held_of_{};  // how many are held, by thread modulo kThreads
};

}  // namespace fsr
