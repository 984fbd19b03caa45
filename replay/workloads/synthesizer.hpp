// SPDX-License-Identifier: Apache-2.0
// A mix of calls at a rate, as a source of operations: every stream works in its own directory, its calls one after the other.
//
// Unless it is steered, it does not depend on outcomes. Each call is one operation on a state that the stream itself has made, so
// shares and outcomes are known beforehand. The same seed gives the same operations, byte for byte, on every target. Outcomes are
// evaluated afterwards (mix_result.hpp). One thread; memory follows the working set.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "op_source.hpp"
#include "workloads/arrivals.hpp"
#include "workloads/mix_dealer.hpp"
#include "workloads/mix_stream.hpp"

namespace fsr {

struct SynthesizerOptions {
  Arrival arrival = Arrival::exponential;
  uint64_t calls = 0;    // in all
  int64_t duration = 0;  // ns, above 0, in which they are due
  uint64_t seed = 1;
};

class Synthesizer final : public OpSource {
 public:
  // `plan`, `set` and `sizes` must outlive it.
  Synthesizer(const SynthesizerOptions& options, const MixPlan& plan, const WorkingSet& set, const SizeModel& sizes);

  bool next(OpBatch& batch) override;

  // Before the first call: what `calls` calls of one procedure of the plan would be, which count nowhere. Fewer if the streams
  // have no more to work on. The streams go on from there. Must not outlive this.
  std::unique_ptr<OpSource> rehearsal(size_t procedure, uint64_t calls);
  // Before the first call: so many after all.
  void set_calls(uint64_t calls, int64_t duration);
  // At these numbers of calls, and before the first, `shares` tells the shares of the procedures from then on.
  void steer(std::function<std::vector<double>()> shares, std::vector<uint64_t> at);

  const std::vector<Dealt>& dealt() const { return dealer_.dealt(); }
  uint64_t calls() const { return calls_; }

 private:
  class Rehearsal;
  static constexpr size_t kBatch = 256, kSteeredBatch = 16;

  SynthesizerOptions options_;
  Arrivals arrivals_;
  ObjectId next_object_;
  HandleId next_handle_;
  std::deque<MixStream> streams_;
  MixDealer dealer_;
  uint64_t calls_ = 0;
  std::function<std::vector<double>()> shares_;
  std::vector<uint64_t> steered_at_;  // the next one last
};

}  // namespace fsr
