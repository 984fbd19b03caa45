// SPDX-License-Identifier: Apache-2.0
// Chooses the next call of a stream, so that the shares of a plan come out. Not thread-safe; draws on nothing but its own random
// numbers and what the stream has.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "op_source.hpp"
#include "workloads/mix_plan.hpp"
#include "workloads/mix_stream.hpp"
#include "workloads/share_dealer.hpp"

namespace fsr {

// How often each procedure of a plan was dealt, by the kind of operation that stood for it.
using Dealt = std::array<uint64_t, kOpKinds>;

class MixDealer {
 public:
  MixDealer(const MixPlan& plan, Random random);  // `plan` must outlive it
  // Fills in everything of `op` but its number and time. Strings are copied to `arena`.
  void deal(MixStream& stream, Op& op, Arena& arena);
  // The same for a given procedure of the plan, and counted nowhere. False: the stream has nothing for it to work on.
  bool deal_one(size_t procedure, MixStream& stream, Op& op, Arena& arena);
  void set_shares(std::span<const double> shares) { deck_.set_shares(shares); }
  const std::vector<Dealt>& dealt() const { return dealt_; }  // an entry for each procedure of the plan

 private:
  const MixPlan& plan_;
  ShareDealer deck_;
  std::vector<Dealt> dealt_;
  const uint32_t uid_, gid_;
  unsigned fallback_ = 0;  // a procedure that can always be called
};

}  // namespace fsr
