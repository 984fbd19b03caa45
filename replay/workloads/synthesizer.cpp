// SPDX-License-Identifier: Apache-2.0
#include "workloads/synthesizer.hpp"

#include <algorithm>
#include <utility>

namespace fsr {

Synthesizer::Synthesizer(const SynthesizerOptions& options, const MixPlan& plan, const WorkingSet& set, const SizeModel& sizes)
    : options_(options),
      arrivals_(options.arrival, options.calls, options.duration, options.seed),
      next_object_(set.next_object()),
      next_handle_(set.next_handle()),
      dealer_(plan, Random(options.seed, 2)) {
  for (const StreamFiles& files : set.streams())
    streams_.emplace_back(files, sizes, plan, Random(options.seed, 3 + files.number), next_object_, next_handle_);
}

bool Synthesizer::next(OpBatch& batch) {
  batch.clear();
  while (batch.ops.size() < (shares_ ? kSteeredBatch : kBatch) && calls_ < options_.calls) {
    if (shares_ && !steered_at_.empty() && calls_ >= steered_at_.back()) {
      dealer_.set_shares(shares_());
      steered_at_.pop_back();
    }
    Op& op = batch.ops.emplace_back();
    op.seq = calls_;
    op.start = arrivals_.next();
    dealer_.deal(streams_[calls_ % streams_.size()], op, batch.arena);
    ++calls_;
  }
  return !batch.ops.empty();
}

class Synthesizer::Rehearsal final : public OpSource {
 public:
  Rehearsal(Synthesizer& of, size_t procedure, uint64_t calls) : of_(of), procedure_(procedure), left_(calls) {}
  bool next(OpBatch& batch) override {
    batch.clear();
    for (; left_ > 0; --left_) {
      Op op;
      if (!of_.dealer_.deal_one(procedure_, of_.streams_[left_ % of_.streams_.size()], op, batch.arena)) continue;
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
  dealer_.set_shares(shares_());
}

}  // namespace fsr
