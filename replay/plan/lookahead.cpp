// SPDX-License-Identifier: Apache-2.0
#include "plan/lookahead.hpp"

#include "util/check.hpp"

namespace fsr {

constexpr size_t kSpare = 4;  // batches kept so that their memory is used again

static size_t memory(const OpBatch& batch) { return batch.ops.capacity() * sizeof(Op) + batch.arena.memory(); }

const Op* Lookahead::peek() {
  while (batches_.empty() || at_ == batches_.front()->ops.size()) {
    if (!batches_.empty()) {
      if (spare_.size() < kSpare) spare_.push_back(std::move(batches_.front()));
      batches_.pop_front();
      at_ = 0;
      if (indexed_) --indexed_;
      if (!batches_.empty()) bytes_ -= memory(*batches_.front());
    } else if (!load()) {
      return nullptr;
    }
  }
  return &batches_.front()->ops[at_];
}

const Op* Lookahead::after() {
  if (at_ + 1 < batches_.front()->ops.size()) return &batches_.front()->ops[at_ + 1];
  if (batches_.size() == 1 && !load()) return nullptr;
  return &batches_[1]->ops.front();
}

void Lookahead::advance() {
  FSR_CHECK(!batches_.empty() && at_ < batches_.front()->ops.size(), "there is no operation to leave behind");
  const Op& op = batches_.front()->ops[at_++];
  if (indexed_ && changes_names(op)) forget(op);
}

bool Lookahead::load() {
  while (!ended_) {
    if (spare_.empty()) spare_.push_back(std::make_unique<OpBatch>());
    std::unique_ptr<OpBatch> batch = std::move(spare_.back());
    spare_.pop_back();
    if (!source_.next(*batch)) {
      ended_ = true;
      break;
    }
    std::vector<Op>& ops = batch->ops;
    for (size_t i = 0; i < ops.size() && !ended_; ++i)
      if (ops[i].start >= to_) {
        ops.resize(i);
        ended_ = true;
      }
    std::erase_if(ops, [this](const Op& op) { return op.start < from_; });
    if (ops.empty()) {
      spare_.push_back(std::move(batch));
      continue;
    }
    if (!batches_.empty()) bytes_ += memory(*batch);
    batches_.push_back(std::move(batch));
    return true;
  }
  return false;
}

// Loads and indexes the batches that have operations with a start before `until`, as far as the memory limit allows.
void Lookahead::reach(int64_t until) {
  while ((batches_.empty() || batches_.back()->ops.back().start < until) && bytes_ < kAheadBytes && load()) {
  }
  for (; indexed_ < batches_.size(); ++indexed_) {
    const std::vector<Op>& ops = batches_[indexed_]->ops;
    for (size_t i = indexed_ == 0 ? at_ : 0; i < ops.size(); ++i)
      if (changes_names(ops[i])) index(ops[i]);
  }
}

void Lookahead::index(const Op& op) {
  NameView views[kMaxViews];
  each_key({views, name_views(op, views)}, [&](uint64_t key) {
    if (free_.empty()) free_.push_back(&changes_.emplace_back());
    Change* change = free_.back();
    free_.pop_back();
    *change = {&op, nullptr};
    Queue& queue = index_[key];
    (queue.last ? queue.last->next : queue.first) = change;
    queue.last = change;
  });
}

// Removes `op` from the index, where it is the oldest change.
void Lookahead::forget(const Op& op) {
  NameView views[kMaxViews];
  each_key({views, name_views(op, views)}, [&](uint64_t key) {
    auto found = index_.find(key);
    if (found == index_.end()) return;
    Change* change = found->second.first;
    FSR_CHECK(change && change->op == &op, "the index of coming changes has another operation first");
    found->second.first = change->next;
    free_.push_back(change);
    if (!change->next) index_.erase(found);
  });
}

}  // namespace fsr
