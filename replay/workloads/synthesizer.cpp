// SPDX-License-Identifier: Apache-2.0
#include "workloads/synthesizer.hpp"

namespace fsr {

Synthesizer::Synthesizer(const SynthesizerOptions& options, const MixPlan& plan, const WorkingSet& set, const SizeModel& sizes)
    : options_(options),
      arrivals_(options.arrival, options.calls, options.duration, options.seed),
      next_object_(set.next_object()),
      next_handle_(set.next_handle()),
      dealer_(plan, Random(options.seed, 2)) {
  for (const StreamFiles& files : set.streams())
    streams_.emplace_back(files, sizes, plan.traits, plan_removes(plan), Random(options.seed, 3 + files.number), next_object_,
                          next_handle_);
}

bool Synthesizer::next(OpBatch& batch) {
  batch.clear();
  while (batch.ops.size() < kBatch && calls_ < options_.calls) {
    Op& op = batch.ops.emplace_back();
    op.seq = calls_;
    op.start = arrivals_.next();
    dealer_.deal(streams_[calls_ % streams_.size()], op, batch.arena);
    ++calls_;
  }
  return !batch.ops.empty();
}

}  // namespace fsr
