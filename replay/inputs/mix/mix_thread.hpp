// SPDX-License-Identifier: Apache-2.0
// A stream of a mix as a simulated thread, and what the streams of a run share. Private to the run of mixes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/run.hpp"
#include "engine/verify.hpp"
#include "measure/tally.hpp"
#include "threads/sim_context.hpp"
#include "threads/sim_thread.hpp"
#include "util/check.hpp"
#include "util/object_set.hpp"
#include "workloads/mix_dealer.hpp"
#include "workloads/mix_stream.hpp"
#include "workloads/sizes.hpp"
#include "workloads/working_set.hpp"

namespace fsr {

constexpr Row kMixFailing = kOpKinds;  // row for the times of failed calls; other calls are in the row of their kind

// Counters that all streams of a run share. They are touched only when a call does not go as expected.
struct MixShared {
  std::atomic<uint64_t> differed{0}, unanswered{0};
  std::atomic<bool> failed{false};  // true ends the run
};

// Counts of the streams on one worker.
struct MixBook {
  MixBook(size_t procedures, size_t mismatches) : dealt(procedures), verifier(false, mismatches) {}
  RunResult result;  // only what SimContext does not count
  std::vector<Dealt> dealt;
  Verifier verifier;
  ObjectSet objects;
};

// Room for the names of one operation.
class OneRoom final : public NameRoom {
 public:
  std::string_view copy(std::string_view name) override {
    FSR_CHECK(used_ + name.size() <= sizeof text_, "a name of " + std::to_string(name.size()) + " bytes");
    char* to = text_ + used_;
    used_ += uint8_t(name.copy(to, name.size()));
    return {to, name.size()};
  }
  void clear() { used_ = 0; }

 private:
  uint8_t used_ = 0;
  char text_[71];  // two names of the longest number and a suffix
};

// The parts that all streams of a run use.
struct MixParts {
  const MixPlan& plan;
  const WorkingSet& set;
  const SizeModel& sizes;
  const MixDealer dealer;
  const RunOptions& options;
  const uint64_t seed, calls, streams;  // calls: of all streams; 0: limited by time only
  MixShared shared{};
};

// Takes 2 KiB with its coroutine and its SimContext, because there may be a million.
class MixThread final : public SimThread {
 public:
  // Stream number `index` of the run. `calls`: number of calls of this stream. `book`: of its worker.
  MixThread(MixParts& parts, const StreamPlace& place, uint64_t index, uint64_t calls, NewIds ids, MixBook& book);
  SimTask run(SimContext& sim) override;

 private:
  SimContext::PerformAwaiter issue(SimContext& sim, Op& op);
  std::string_view payload(const Op& op);
  void look_at(SimContext& sim, const Op& op, const Outcome& outcome);

  MixParts& parts_;
  MixBook& book_;
  const uint64_t index_, calls_;
  NewIds ids_;
  MixStream stream_;
  ShareDealer deck_;
  OneRoom room_;
  std::unique_ptr<std::string> scratch_;  // for payloads that have to be copied
};

}  // namespace fsr
