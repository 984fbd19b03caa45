// SPDX-License-Identifier: Apache-2.0
#include "workloads/synthesizer.hpp"

#include <algorithm>
#include <utility>

namespace fsr {

namespace {

// Room in the memory of a batch.
class BatchRoom final : public NameRoom {
 public:
  explicit BatchRoom(OpBatch& batch) : batch_(batch) {}
  std::string_view copy(std::string_view name) override { return batch_.arena.copy(name); }

 private:
  OpBatch& batch_;
};

}  // namespace

Synthesizer::Synthesizer(const SynthesizerOptions& options, const MixPlan& plan, const WorkingSet& set, const SizeModel& sizes)
    : options_(options),
      arrivals_(options.arrival, options.calls, options.duration, options.seed),
      ids_{.object = set.next_object(), .handle = set.next_handle()},
      dealer_(plan),
      deck_(dealer_.deck(Random(options.seed, 2))),
      dealt_(plan.procedures.size()) {
  for (size_t i = 0; i < set.streams(); ++i) {
    const StreamPlace place = set.stream(i);
    // Each of many streams has made nothing that it could remove, until its second turn.
    if (place.shared) deck_.limit_backlog();
    streams_.emplace_back(place, sizes, plan, Random(options.seed, 3 + place.number), ids_);
  }
}

bool Synthesizer::next(OpBatch& batch) {
  batch.clear();
  BatchRoom room(batch);
  while (batch.ops.size() < (shares_ ? kSteeredBatch : kBatch) && calls_ < options_.calls) {
    if (shares_ && !steered_at_.empty() && calls_ >= steered_at_.back()) {
      deck_.set_shares(dealer_.shares_of_cards(shares_()));
      steered_at_.pop_back();
    }
    Op& op = batch.ops.emplace_back();
    op.seq = calls_;
    op.start = arrivals_.next();
    const size_t procedure = dealer_.deal(deck_, streams_[calls_ % streams_.size()], op, room);
    ++dealt_[procedure][unsigned(op.kind)];
    ++calls_;
  }
  return !batch.ops.empty();
}

class Synthesizer::Rehearsal final : public OpSource {
 public:
  Rehearsal(Synthesizer& of, size_t procedure, uint64_t calls) : of_(of), procedure_(procedure), left_(calls) {}
  bool next(OpBatch& batch) override {
    batch.clear();
    BatchRoom room(batch);
    for (; left_ > 0; --left_) {
      Op op;
      if (!of_.dealer_.deal_one(procedure_, of_.streams_[left_ % of_.streams_.size()], op, room)) continue;
      op.seq = seq_++;
      batch.ops.push_back(op);
    }
    return !batch.ops.empty();
  }

 private:
  Synthesizer& of_;
  const size_t procedure_;
  uint64_t left_, seq_ = 0;
};

std::unique_ptr<OpSource> Synthesizer::rehearsal(size_t procedure, uint64_t calls) {
  return std::make_unique<Rehearsal>(*this, procedure, calls);
}

void Synthesizer::set_calls(uint64_t calls, int64_t duration) {
  options_.calls = calls;
  options_.duration = duration;
  arrivals_ = Arrivals(options_.arrival, calls, duration, options_.seed);
}

void Synthesizer::steer(std::function<std::vector<double>()> shares, std::vector<uint64_t> at) {
  shares_ = std::move(shares);
  std::sort(at.begin(), at.end(), std::greater<>());
  steered_at_ = std::move(at);
  deck_.set_shares(dealer_.shares_of_cards(shares_()));
}

}  // namespace fsr
