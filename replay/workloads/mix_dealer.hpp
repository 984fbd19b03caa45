// SPDX-License-Identifier: Apache-2.0
// Chooses the next call of a stream, so that the shares of a plan are met. Depends only on the given deck and the state of the
// stream. Immutable once made, so that threads may share it.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "op_source.hpp"
#include "workloads/mix_plan.hpp"
#include "workloads/mix_stream.hpp"
#include "workloads/share_dealer.hpp"

namespace fsr {

// Number of calls dealt for a procedure of the plan, by the kind of operation that was issued for it.
using Dealt = std::array<uint64_t, kOpKinds>;

class MixDealer {
 public:
  explicit MixDealer(const MixPlan& plan);  // `plan` must outlive this object
  // Returns a deck for one or more streams. It has a card for each procedure with a share.
  ShareDealer deck(Random random) const { return ShareDealer(shares_, random); }
  // Returns what ShareDealer::set_shares() needs for the shares of the procedures of the plan.
  ShareDealer::Shares shares_of_cards(std::span<const double> shares) const;
  // Fills in all of `op` except its number and time. Names are copied to `room`. Returns the number of the procedure in the plan.
  size_t deal(ShareDealer& deck, MixStream& stream, Op& op, NameRoom& room) const;
  // Like deal(), for the given procedure of the plan. False: the stream has nothing on which the procedure can work.
  bool deal_one(size_t procedure, MixStream& stream, Op& op, NameRoom& room) const;

 private:
  const MixPlan& plan_;
  std::vector<uint32_t> cards_;  // numbers of the procedures with a share
  ShareDealer::Shares shares_;
  const uint32_t uid_, gid_;
  std::vector<unsigned> fallbacks_;  // cards, the best first for a stream that can play none of a round
};

}  // namespace fsr
