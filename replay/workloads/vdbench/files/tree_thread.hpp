// SPDX-License-Identifier: Apache-2.0
// A thread that works on an FSD's tree: opens and makes files and directories, transfers, and counts what it did. Errors of the
// target are reported and counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/task.hpp"
#include "measure/tally.hpp"
#include "threads/sim_context.hpp"
#include "workloads/vdbench/content/content.hpp"
#include "workloads/vdbench/error_log.hpp"
#include "workloads/vdbench/files/anchor.hpp"
#include "workloads/vdbench/files/blocked.hpp"
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

// State that the threads of a run share.
struct RunContext {
  Pace& pace;
  ErrorLog& errors;
  Expectations expects;
  uint32_t umask = 0;
  uint64_t seed = 1;
  const Validation& validation;
  ValidatedRun& checks;
};

// State that the threads of one work share.
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

// Make the target know an existing directory or file, and all directories above it. It does not know those that another rank or
// an earlier program has made. Return 0 or an errno.
Task look_up_directory(SimContext& sim, Anchor& anchor, uint64_t directory);
Task look_up_file(SimContext& sim, Anchor& anchor, uint32_t file);

class TreeThread : public SimThread {
 public:
  const Events& events() const { return events_; }

 protected:
  struct Open {
    uint32_t file = 0;
    HandleId handle = 0;
    bool for_read = false;
    uint64_t next = 0;               // offset of the next sequential transfer
    uint64_t bytes = 0, blocks = 0;  // transferred since the file was opened
  };
  // `context` must outlive this. `number`: number of the thread in the run. `is_format`: errors are those of a format.
  TreeThread(WorkContext& context, unsigned number, bool is_format = false);

  // Each Task returns 0 or an errno. The thread must have claimed the file, which close() and a failed open() release. `due`: due
  // time of the operation; 0: when it is issued.
  Task open(SimContext& sim, Anchor& anchor, uint32_t file, bool for_read, bool creates, Open* open);
  Task close(SimContext& sim, Anchor& anchor, Open& open);
  Task transfer_some(SimContext& sim, const Op& op, uint32_t file, int64_t due);
  Task make_directory(SimContext& sim, uint64_t directory, int64_t due);

  Row row(Operation operation) const { return row_of(context_.number, operation); }
  const FileWorkload& settings() const { return context_.work.workload; }
  void failed_transfer(const Op& op, Anchor& anchor, uint32_t file, int error);
  void failed(const std::string& what, Anchor& anchor, const std::string& path, int error, uint64_t lba = 0, uint64_t size = 0);

  WorkContext& context_;
  Anchor& anchor_;
  const std::unique_ptr<Validator> validator_;  // may be null
  Events events_{};
  std::string scratch_;

 private:
  Task transfer_unchecked(SimContext& sim, const Op& op, Row its_row, uint32_t file, int64_t due);

  const bool is_format_;
  ContentWriter writer_;
};

}  // namespace fsr::vdbench
