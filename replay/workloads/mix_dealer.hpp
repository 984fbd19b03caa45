// SPDX-License-Identifier: Apache-2.0
// Chooses the next call of a stream, so that the shares of a plan are met. Not thread-safe. Depends only on its own random
// numbers and the state of the stream.
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
  MixDealer(const MixPlan& plan, Random random);  // `plan` must outlive it
  // Fills in all of `op` except its number and time. Strings are copied to `arena`.
  void deal(MixStream& stream, Op& op, Arena& arena);
  // Like deal(), for the given procedure of the plan, and without counting the call. False: the stream has nothing on which the
  // procedure can work.
  bool deal_one(size_t procedure, MixStream& stream, Op& op, Arena& arena);
  void set_shares(std::span<const double> shares) { dealer_.set_shares(shares); }
  const std::vector<Dealt>& dealt() const { return dealt_; }  // one entry for each procedure of the plan

 private:
  const MixPlan& plan_;
  ShareDealer dealer_;
  std::vector<Dealt> dealt_;
  const uint32_t uid_, gid_;
  unsigned fallback_ = 0;  // number of a procedure that can always be called
};

}  // namespace fsr
