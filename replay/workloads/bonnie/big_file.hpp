// SPDX-License-Identifier: Apache-2.0
// The big file while a thread has it open.
#pragma once

#include <cstdint>

#include "base/target.hpp"
#include "base/task.hpp"
#include "op.hpp"
#include "workloads/bonnie/bonnie_run.hpp"

namespace fsr {
class SimContext;
}

namespace fsr::bonnie {

// Every Task yields 0 or an errno, which the run then knows of. Lives no longer than the run and the sim.
class BigFile {
 public:
  BigFile(BonnieRun& run, SimContext& sim) : run_(run), sim_(sim) {}

  Task make(Phase phase);  // anew
  Task open(Phase phase);
  // Requests, and what is to be said of one that is done: 0 where all of it was transferred.
  Op writing(uint64_t offset, uint64_t length) const {
    return {.kind = OpKind::write, .object = run_.file, .handle = handle_, .offset = offset, .length = length};
  }
  Op reading(uint64_t offset, uint64_t length) const {
    return {.kind = OpKind::read, .object = run_.file, .handle = handle_, .offset = offset, .length = length};
  }
  int judge(Phase phase, const Op& op, const Outcome& outcome) {
    return outcome.error == 0 && outcome.result == op.length ? 0 : fail(phase, op, outcome);
  }
  // All of `length`, into `to`, in as many requests as it takes.
  Task read(Phase phase, char* to, uint64_t length, uint64_t offset);
  Task sync(Phase phase);
  Task sync_and_close(Phase phase);

 private:
  int fail(Phase phase, const Op& op, const Outcome& outcome);

  BonnieRun& run_;
  SimContext& sim_;
  HandleId handle_ = 0;
};

}  // namespace fsr::bonnie
