// SPDX-License-Identifier: Apache-2.0
// The big file while a thread uses it.
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

// Every Task returns 0 or an errno, which is also reported to the run. `run` and `sim` must outlive this.
class BigFile {
 public:
  BigFile(BonnieRun& run, SimContext& sim) : run_(run), sim_(sim) {}

  Task make(Phase phase);  // creates the file, after removing an old one
  Task open(Phase phase);
  // writing() and reading() return requests. judge() returns 0 if all bytes were transferred; otherwise it reports the error to
  // the run and returns an errno.
  Op writing(uint64_t offset, uint64_t length) const {
    return {.kind = OpKind::write, .object = run_.file, .handle = handle_, .offset = offset, .length = length};
  }
  Op reading(uint64_t offset, uint64_t length) const {
    return {.kind = OpKind::read, .object = run_.file, .handle = handle_, .offset = offset, .length = length};
  }
  int judge(Phase phase, const Op& op, const Outcome& outcome) {
    return outcome.error == 0 && outcome.result == op.length ? 0 : fail(phase, op, outcome);
  }
  // Reads `length` bytes into `to`, in as many requests as that takes.
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
