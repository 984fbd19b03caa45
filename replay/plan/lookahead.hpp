// SPDX-License-Identifier: Apache-2.0
// Returns the operations of a source one after the other, and finds changes of names that come after the current operation.
//
// Looks ahead only on request, as far as requested, but at most kAheadBytes. Batches are kept as the source filled them, so
// looking ahead copies nothing. The changes of a batch are indexed by their names when coming() needs the batch first. Use from
// one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "op_source.hpp"
#include "plan/name_views.hpp"

namespace fsr {

class Lookahead {
 public:
  // Leaves out operations that started before `from`. Ends at the first operation that started at or after `to`.
  Lookahead(OpSource& source, int64_t from, int64_t to) : source_(source), from_(from), to_(to) {}

  const Op* peek();   // returns the current operation; null: the end
  const Op* after();  // returns the operation after the current one; null: there is none
  // Moves on to the next operation. The previous one stays valid until the next peek().
  void advance();

  // Visits the changes with a view of `key` that start before `until`, from the current operation on, in order of their starts.
  // Visit: bool(const Op&); false: coming() ends.
  template <class Visit>
  void coming(uint64_t key, int64_t until, Visit visit) {
    reach(until);
    auto found = index_.find(key);
    if (found == index_.end()) return;
    for (const Change* c = found->second.first; c && c->op->start < until; c = c->next)
      if (!visit(*c->op)) return;
  }

 private:
  // Limit for the batches after the current one, in bytes: half a minute of a busy server in which one operation hangs.
  static constexpr size_t kAheadBytes = 64 << 20;

  struct Change {
    const Op* op = nullptr;
    Change* next = nullptr;
  };
  struct Queue {
    Change *first = nullptr, *last = nullptr;
  };

  bool load();
  void reach(int64_t until);
  void index(const Op& op);
  void forget(const Op& op);

  OpSource& source_;
  int64_t from_, to_;
  bool ended_ = false;
  std::deque<std::unique_ptr<OpBatch>> batches_;  // the current one and those after it; only the current one may be empty
  std::vector<std::unique_ptr<OpBatch>> spare_;
  size_t at_ = 0;       // index of the current operation in the first batch
  size_t indexed_ = 0;  // number of indexed batches, from the first one on
  size_t bytes_ = 0;    // of all batches but the first
  std::unordered_map<uint64_t, Queue> index_;
  std::deque<Change> changes_;
  std::vector<Change*> free_;
};

}  // namespace fsr
