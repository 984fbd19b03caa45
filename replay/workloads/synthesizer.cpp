// SPDX-License-Identifier: Apache-2.0
#include "workloads/synthesizer.hpp"

#include <unistd.h>

namespace fsr {

// Needs nothing that another call must have made.
static bool always_playable(Action action) {
  switch (action) {
    case Action::readlink:
    case Action::remove:
    case Action::remove_any:
    case Action::rmdir:
    case Action::close:
      return false;
    default:
      return true;
  }
}

static std::vector<double> planned(const MixPlan& plan) {
  std::vector<double> shares;
  for (const PlannedProcedure& p : plan.procedures) shares.push_back(p.planned);
  return shares;
}

Synthesizer::Synthesizer(const SynthesizerOptions& options, const MixPlan& plan, const WorkingSet& set, const SizeModel& sizes)
    : options_(options),
      plan_(plan),
      arrivals_(options.arrival, options.calls, options.duration, options.seed),
      next_object_(set.next_object()),
      next_handle_(set.next_handle()),
      deck_(planned(plan), Random(options.seed, 2)),
      dealt_(plan.procedures.size()),
      uid_(geteuid()),
      gid_(getegid()) {
  const bool removes = plan.share(Action::remove) + plan.share(Action::remove_any) > 0;
  const std::vector<double> shares = planned(plan);
  auto better = [&](unsigned a, unsigned b) {
    const bool always_a = always_playable(plan.procedures[a].action), always_b = always_playable(plan.procedures[b].action);
    return always_a != always_b && shares[a] > 0 && shares[b] > 0 ? always_a : shares[a] > shares[b];
  };
  for (unsigned i = 1; i < shares.size(); ++i)
    if (better(i, fallback_)) fallback_ = i;
  streams_.reserve(set.streams().size());
  for (const StreamFiles& files : set.streams()) {
    streams_.emplace_back(files, sizes, removes, Random(options.seed, 3 + files.number), next_object_, next_handle_);
  }
}

bool Synthesizer::next(OpBatch& batch) {
  batch.clear();
  while (batch.ops.size() < kBatch) {
    if (options_.calls && calls_ == options_.calls) break;
    // In a closed loop only the order counts: round by round.
    const int64_t due = options_.arrival == Arrival::closed ? int64_t(calls_ / streams_.size()) : arrivals_.next();
    const size_t turn = calls_ % streams_.size();
    MixStream& stream = streams_[turn];
    const unsigned card = deck_.deal([&](unsigned i) { return stream.playable(plan_.procedures[i].action); }, fallback_);
    Op& op = batch.ops.emplace_back();
    op.seq = calls_++;
    op.start = due;
    op.uid = uid_;
    op.gid = gid_;
    stream.play(plan_.procedures[card].action, op, batch.arena);
    ++dealt_[card][unsigned(op.kind)];
  }
  return !batch.ops.empty();
}

}  // namespace fsr
