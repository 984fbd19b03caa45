// SPDX-License-Identifier: Apache-2.0
// Operations of a source one after the other, and what changes of names are to come after the one at hand.
//
// Looks ahead only when asked to, then as far as asked, but at most kAheadBytes: batches are kept as the source filled them, so
// looking ahead copies nothing. Changes are indexed by their names from the first question on that a batch is needed for. One
// thread at a time.
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
  // Leaves out what started before `from`, and ends at the first operation that started at or after `to`.
  Lookahead(OpSource& source, int64_t from, int64_t to) : source_(source), from_(from), to_(to) {}

  const Op* peek();   // the operation at hand, null at the end
  const Op* after();  // the one after it, null at the end
  // The next one comes to hand. The one before stays valid until the next peek().
  void advance();

  // Changes with a view of `key`, from the operation at hand on, that start before `until`, in order of their starts.
  // Visit: bool(const Op&), false ends it.
  template <class Visit>
  void coming(uint64_t key, int64_t until, Visit visit) {
    reach(until);
    auto found = index_.find(key);
    if (found == index_.end()) return;
    for (const Change* c = found->second.first; c && c->op->start < until; c = c->next)
      if (!visit(*c->op)) return;
  }

 private:
  // What looking ahead may take beyond the batch at hand. Half a minute of a busy server in which one operation hangs.
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
  std::deque<std::unique_ptr<OpBatch>> batches_;  // at hand and to come, none of them empty but the one at hand
  std::vector<std::unique_ptr<OpBatch>> spare_;
  size_t at_ = 0;       // in the first batch
  size_t indexed_ = 0;  // batches
  size_t bytes_ = 0;    // of all batches but the first
  std::unordered_map<uint64_t, Queue> index_;
  std::deque<Change> changes_;
  std::vector<Change*> free_;
};

}  // namespace fsr
