// SPDX-License-Identifier: Apache-2.0
// State that the threads of a run share, and state that the threads of one work share.
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

// Rows of the tally: kOperations rows for each work.
inline Row row_of(unsigned work, Operation operation) { return work * kOperations + unsigned(operation); }

// Effects of all works of a run, from which a work concludes what it can wait for. Constant.
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
  ValidatedRun& checks;
};

struct WorkContext {
  RunContext& run;
  const FileWork& work;
  unsigned number;  // index in the run's works
  Anchor& anchor;
  Anchor* target = nullptr;              // only for copy and move
  const Content* content = nullptr;      // content to write; null: that of Payload
  const FileRow* content_row = nullptr;  // positions of files in the content
  std::atomic<bool> over{false};         // true: none of the work's threads can go on
  std::atomic<unsigned> threads{0};      // number of threads that are running

  std::unique_ptr<Validator> validator() const {  // for one thread; may be null
    if (!anchor.validated()) return nullptr;
    return std::make_unique<Validator>(*anchor.validated(), run.validation, run.checks, run.errors,
                                       work.workload.transfers.largest());
  }
};

}  // namespace fsr::vdbench
