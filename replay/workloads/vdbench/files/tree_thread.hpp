// SPDX-License-Identifier: Apache-2.0
// A thread that works on an FSD's tree: opens and makes files and directories, transfers, and counts what it did. Errors of the
// target are reported and counted.
#pragma once

#include <cstdint>
#include <string>

#include "base/task.hpp"
#include "threads/sim_context.hpp"
#include "workloads/vdbench/files/anchor.hpp"
#include "workloads/vdbench/files/blocked.hpp"
#include "workloads/vdbench/files/file_context.hpp"

namespace fsr::vdbench {

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

  // Each Task returns 0 or an errno. The thread must have claimed the file, which close() releases. `due`: due time of the
  // operation; 0: when it is issued.
  Task open(SimContext& sim, Anchor& anchor, uint32_t file, bool for_read, bool creates, Open* open);
  Task close(SimContext& sim, Anchor& anchor, Open& open);
  Task transfer_some(SimContext& sim, const Op& op, uint32_t file, int64_t due);
  Task make_directory(SimContext& sim, uint64_t directory, int64_t due);

  Row row(Operation operation) const { return row_of(context_.number, operation); }
  const FileWorkload& settings() const { return context_.work.workload; }
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
