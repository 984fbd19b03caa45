// SPDX-License-Identifier: Apache-2.0
// A source of operations that generates the calls of a mix at a given rate. Each stream works in its directory, one call after
// the other.
//
// Without steer(), the calls do not depend on outcomes. Each call is one operation on a state that the stream itself has made, so
// shares and outcomes are known beforehand. The same seed gives the same operations, byte for byte, on every target. Outcomes are
// evaluated after the run (mix_result.hpp). One thread. Memory is proportional to the working set.
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
  int64_t duration = 0;  // ns in which the calls are due; above 0
  uint64_t seed = 1;
};

class Synthesizer final : public OpSource {
 public:
  // `plan`, `set` and `sizes` must outlive this.
  Synthesizer(const SynthesizerOptions& options, const MixPlan& plan, const WorkingSet& set, const SizeModel& sizes);

  bool next(OpBatch& batch) override;

  // Returns `calls` calls of one procedure of the plan, which are not counted. Fewer, if the streams have nothing more to work
  // on. The streams continue from the state after these calls. Call this before the first call; the result must not outlive this.
  std::unique_ptr<OpSource> rehearsal(size_t procedure, uint64_t calls);
  // Changes number and duration of the calls. Call this before the first call.
  void set_calls(uint64_t calls, int64_t duration);
  // Sets a function that returns the shares of the procedures. It is called before the first call, and at these numbers of calls.
  void steer(std::function<std::vector<double>()> shares, std::vector<uint64_t> at);

  const std::vector<Dealt>& dealt() const { return dealt_; }  // one for each procedure
  uint64_t calls() const { return calls_; }

 private:
  class Rehearsal;
  static constexpr size_t kBatch = 256, kSteeredBatch = 16;

  SynthesizerOptions options_;
  Arrivals arrivals_;
  NewIds ids_;
  std::deque<MixStream> streams_;
  const MixDealer dealer_;
  ShareDealer deck_;  // of all streams
  std::vector<Dealt> dealt_;
  uint64_t calls_ = 0;
  std::function<std::vector<double>()> shares_;
  std::vector<uint64_t> steered_at_;  // descending; the next one is the last
};

}  // namespace fsr
