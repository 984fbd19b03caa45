// SPDX-License-Identifier: Apache-2.0
#include "inputs/mix/mix_thread.hpp"

#include "base/no_answer.hpp"
#include "base/payload.hpp"
#include "base/target.hpp"

namespace fsr {

constexpr uint64_t kDeckOfStream = uint64_t(1) << 32;  // first sequence of random numbers for the decks of the streams

MixThread::MixThread(MixParts& parts, const StreamPlace& place, uint64_t index, uint64_t calls, NewIds ids, MixBook& book)
    : parts_(parts),
      book_(book),
      index_(index),
      calls_(calls),
      ids_(ids),
      stream_(place, parts.sizes, parts.plan, Random(parts.seed, 3 + place.number), ids_),
      deck_(parts.dealer.deck(Random(parts.seed, kDeckOfStream + place.number))) {
  if (place.shared) deck_.begin_anywhere();
}

SimTask MixThread::run(SimContext& sim) {
  Op op;
  for (uint64_t call = 0; call < calls_ && !sim.ended() && !parts_.shared.failed.load(std::memory_order_relaxed); ++call) {
    op = {};
    op.seq = parts_.streams * call + index_;
    look_at(sim, op, co_await issue(sim, op));
  }
}

SimContext::PerformAwaiter MixThread::issue(SimContext& sim, Op& op) {
  room_.clear();
  const size_t procedure = parts_.dealer.deal(deck_, stream_, op, room_);
  ++book_.dealt[procedure][unsigned(op.kind)];
  PerformOptions how;
  if (op.kind == OpKind::write) how = {.payload = payload(op), .generated = true};
  book_.result.kinds[unsigned(op.kind)].approximate += sim.target().fidelity(op) == Fidelity::approximate;
  return sim.perform(op, Row(op.kind), how);
}

std::string_view MixThread::payload(const Op& op) {
  if (op.length <= Payload::kDirect) return Payload::shared().get(op.object, op.offset, op.length);
  if (!scratch_) scratch_ = std::make_unique<std::string>();
  return Payload::shared().get(op.object, op.offset, op.length, *scratch_);
}

void MixThread::look_at(SimContext& sim, const Op& op, const Outcome& outcome) {
  KindResult& kind = book_.result.kinds[unsigned(op.kind)];
  book_.result.auxiliary += outcome.auxiliary;
  book_.objects.insert(op.object);
  if (outcome.error != 0 && outcome.error != op.error) {
    sim.count(kMixFailing, {.due = sim.issued(), .from = sim.issued(), .to = outcome.completed});
    if (is_no_answer(outcome.error)) {
      ++parts_.shared.unanswered;
      book_.result.open.add(outcome.completed - sim.issued());
    }
  }
  if (book_.verifier.check(op, outcome, false, sim.issued() - sim.started()) == Match::matched) {
    ++kind.matched;
    return;
  }
  ++kind.differed;
  ++parts_.shared.differed;
  if (outcome.error != 0 && parts_.options.stop_on_error) parts_.shared.failed.store(true, std::memory_order_relaxed);
}

}  // namespace fsr
