// SPDX-License-Identifier: Apache-2.0
#include "workloads/mix_dealer.hpp"

#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "util/check.hpp"

namespace fsr {

// True if the action needs nothing that another call must have made. A rename does in a shared directory, and is then passed
// over.
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

MixDealer::MixDealer(const MixPlan& plan) : plan_(plan), uid_(geteuid()), gid_(getegid()) {
  std::vector<double> shares;
  for (const PlannedProcedure& p : plan.procedures) {
    if (p.planned > 0) cards_.push_back(uint32_t(shares.size()));
    shares.push_back(p.planned);
  }
  FSR_CHECK(cards_.size() <= ShareDealer::kMostCards, "a mix of " + std::to_string(cards_.size()) + " procedures");
  shares_ = shares_of_cards(shares);
  auto better = [&](unsigned a, unsigned b) {
    const bool always_a = always_playable(plan.procedures[cards_[a]].action),
               always_b = always_playable(plan.procedures[cards_[b]].action);
    return always_a != always_b ? always_a : (*shares_)[a] > (*shares_)[b];
  };
  fallbacks_.resize(cards_.size());
  std::iota(fallbacks_.begin(), fallbacks_.end(), 0u);
  std::stable_sort(fallbacks_.begin(), fallbacks_.end(), better);
}

ShareDealer::Shares MixDealer::shares_of_cards(std::span<const double> shares) const {
  std::vector<double> of_cards;
  for (uint32_t procedure : cards_) of_cards.push_back(shares[procedure]);
  return std::make_shared<const std::vector<double>>(std::move(of_cards));
}

size_t MixDealer::deal(ShareDealer& deck, MixStream& stream, Op& op, NameRoom& room) const {
  auto playable = [&](unsigned card) { return stream.playable(plan_.procedures[cards_[card]].action); };
  std::optional<unsigned> card = deck.deal(playable);
  if (!card)
    if (auto one = std::find_if(fallbacks_.begin(), fallbacks_.end(), playable); one != fallbacks_.end()) card = *one;
  FSR_CHECK(card && deal_one(cards_[*card], stream, op, room), "no call for a stream, of " + std::to_string(cards_.size()));
  return cards_[*card];
}

bool MixDealer::deal_one(size_t procedure, MixStream& stream, Op& op, NameRoom& room) const {
  const Action action = plan_.procedures[procedure].action;
  if (!stream.playable(action)) return false;
  op.uid = uid_;
  op.gid = gid_;
  stream.run(action, op, room);
  return true;
}

}  // namespace fsr
