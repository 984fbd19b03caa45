// SPDX-License-Identifier: Apache-2.0
#include "workloads/mix_dealer.hpp"

#include <unistd.h>

namespace fsr {

// True if the action needs nothing that another call must have made.
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

MixDealer::MixDealer(const MixPlan& plan, Random random)
    : plan_(plan), dealer_(planned(plan), random), dealt_(plan.procedures.size()), uid_(geteuid()), gid_(getegid()) {
  const std::vector<double> shares = planned(plan);
  auto better = [&](unsigned a, unsigned b) {
    const bool always_a = always_playable(plan.procedures[a].action), always_b = always_playable(plan.procedures[b].action);
    return always_a != always_b && shares[a] > 0 && shares[b] > 0 ? always_a : shares[a] > shares[b];
  };
  for (unsigned i = 1; i < shares.size(); ++i)
    if (better(i, fallback_)) fallback_ = i;
}

void MixDealer::deal(MixStream& stream, Op& op, Arena& arena) {
  const unsigned index = dealer_.deal([&](unsigned i) { return stream.playable(plan_.procedures[i].action); }, fallback_);
  deal_one(index, stream, op, arena);
  ++dealt_[index][unsigned(op.kind)];
}

bool MixDealer::deal_one(size_t procedure, MixStream& stream, Op& op, Arena& arena) {
  const Action action = plan_.procedures[procedure].action;
  if (!stream.playable(action)) return false;
  op.uid = uid_;
  op.gid = gid_;
  stream.run(action, op, arena);
  return true;
}

}  // namespace fsr
