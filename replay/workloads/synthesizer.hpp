// SPDX-License-Identifier: Apache-2.0
// A mix of calls as a source of operations: every stream works in its own directory, its calls one after the other.
//
// Listens to no outcome: each call is one operation and meets a state that the stream itself has made, so shares and outcomes are
// known beforehand, and the same seed gives the same operations, byte for byte, on whatever target. What came of them is seen
// afterwards (mix_result.hpp). One thread; memory follows the working set.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "op_source.hpp"
#include "workloads/arrivals.hpp"
#include "workloads/deck.hpp"
#include "workloads/mix_stream.hpp"

namespace fsr {

struct SynthesizerOptions {
  Arrival arrival = Arrival::exponential;
  uint64_t calls = 0;    // in all; 0: no end, of a closed loop only
  int64_t duration = 0;  // ns, above 0, in which they are due; nothing to a closed loop
  uint64_t seed = 1;
};

class Synthesizer final : public OpSource {
 public:
  // `plan`, `set` and `sizes` must outlive it.
  Synthesizer(const SynthesizerOptions& options, const MixPlan& plan, const WorkingSet& set, const SizeModel& sizes);

  bool next(OpBatch& batch) override;

  // How often each procedure of the plan was dealt, by the kind of operation that stood for it.
  using Dealt = std::array<uint64_t, kOpKinds>;
  const std::vector<Dealt>& dealt() const { return dealt_; }
  uint64_t calls() const { return calls_; }

 private:
  static constexpr size_t kBatch = 256;

  const SynthesizerOptions options_;
  const MixPlan& plan_;
  Arrivals arrivals_;
  ObjectId next_object_;
  HandleId next_handle_;
  std::vector<MixStream> streams_;
  Deck deck_;
  std::vector<Dealt> dealt_;
  uint64_t calls_ = 0;
  uint32_t uid_, gid_;
  unsigned fallback_ = 0;  // a procedure that can always be called
};

}  // namespace fsr
