// SPDX-License-Identifier: Apache-2.0
// State that the threads of a run share, and state that the threads of one of its works share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "measure/tally.hpp"
#include "workloads/vdbench/content/content.hpp"
#include "workloads/vdbench/error_log.hpp"
#include "workloads/vdbench/files/anchor.hpp"
#include "workloads/vdbench/pace/pace.hpp"
#include "workloads/vdbench/plan/planned_run.hpp"
#include "workloads/vdbench/validate/validator.hpp"

namespace fsr::vdbench {

// Rows of the tally: kOperations for each work.
inline Row row_of(unsigned work, Operation operation) { return work * kOperations + unsigned(operation); }

// The effects of a run's works, by which a work decides what it can wait for. Constant.
struct Expectations {
  bool creates = false, deletes = false, makes_directories = false, removes_directories = false;
};

struct RunContext {
  Pace& pace;
  ErrorLog& errors;
  Expectations expects;
  uint32_t umask = 0;
  uint64_t seed = 1;
  const Validation& validation;
  ValidationCounts& checks;
};

struct WorkContext {
  RunContext& run;
  const FileWork& work;
  unsigned number;  // of the run's works
  Anchor& anchor;
  Anchor* target = nullptr;              // of copy and move
  const Content* content = nullptr;      // of what is written; null: of Payload
  const FileRow* content_row = nullptr;  // the places of files in it
  std::atomic<bool> over{false};         // none of its threads can go on
  std::atomic<unsigned> threads{0};      // that go on

  std::unique_ptr<Validator> validator() const {  // of one thread; or null
    if (!anchor.validated()) return nullptr;
    return std::make_unique<Validator>(*anchor.validated(), run.validation, run.checks, run.errors,
                                       work.workload.transfers.largest());
  }
};

}  // namespace fsr::vdbench
