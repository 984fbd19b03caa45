// SPDX-License-Identifier: Apache-2.0
// One thread of an FWD on an FSD. It chooses a file or directory that suits its operation, performs the operation, and continues
// until the run ends. The rules and counts of each operation are those of vdbench 5.04.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/task.hpp"
#include "threads/sim_context.hpp"
#include "util/random.hpp"
#include "workloads/vdbench/files/blocked.hpp"
#include "workloads/vdbench/files/file_context.hpp"

namespace fsr::vdbench {

class FileThread final : public SimThread {
 public:
  // `context` must outlive this. `number`: number of the thread in the run.
  FileThread(WorkContext& context, unsigned number);
  SimTask run(SimContext& sim) override;

  const Events& events() const { return events_; }

 private:
  using File = Anchor::File;
  struct Open {
    uint32_t file = 0;
    HandleId handle = 0;
    bool for_read = false;
    uint64_t next = 0;               // offset of the next sequential transfer
    uint64_t bytes = 0, blocks = 0;  // transferred since the file was opened
  };
  enum class Wanted : uint8_t { existing, missing, either, with_data };

  // Each Task returns 0, or kOver if the thread can't go on. Errors of the target are reported and counted, and the thread goes
  // on.
  static constexpr int kOver = -1;
  using Steps = Task(SimContext& sim);
  Steps work, turn, create, remove, copy;
  Steps inspect;  // access, getattr, setattr, open and close
  Task change_directory(SimContext& sim, bool makes);
  Event claim_to_make(uint64_t directory, bool* in_vain);
  Event claim_to_remove(uint64_t directory, bool* in_vain);
  Task transfer(SimContext& sim, bool reads);
  Task transfer_some(SimContext& sim, const Op& op);
  Task transfer_unchecked(SimContext& sim, const Op& op, Row its_row);
  Task copy_content(SimContext& sim, uint32_t from, uint32_t to);

  // Claims a file for the operation.
  Task find(SimContext& sim, Wanted wanted, bool alone);
  Task open(SimContext& sim, Anchor& anchor, uint32_t file, bool for_read, bool creates, Open* open);
  Task close(SimContext& sim, Anchor& anchor, Open& open);
  Task unlink(SimContext& sim, Anchor& anchor, uint32_t file, int64_t due);
  Task blocked(SimContext& sim, Event event);
  bool place_transfer(const Open& open, bool reads, uint64_t* offset, uint64_t* length);
  bool enough(const Open& open) const;
  bool more_files(bool to_exist) const;

  Row row(Operation operation) const { return row_of(context_.number, operation); }
  const FileWorkload& settings() const { return context_.work.workload; }
  uint64_t draw_size();
  void failed(const std::string& what, Anchor& anchor, const std::string& path, int error, uint64_t lba = 0, uint64_t size = 0);
  std::string_view payload(uint32_t file, uint64_t offset, uint64_t length);

  WorkContext& context_;
  const unsigned number_;
  Anchor* const anchor_;
  Random random_;
  Events events_{};
  uint32_t found_ = 0;  // file that find() has claimed
  int64_t due_ = 0;     // due time of the current operation; 0: when it is issued
  unsigned blocked_in_a_row_ = 0;
  std::string gave_up_;       // reason why the thread ended; empty: it did not
  std::optional<Open> open_;  // open file of reads and writes
  std::string scratch_;
  ContentWriter writer_;
  const std::unique_ptr<Validator> validator_;  // may be null
};

}  // namespace fsr::vdbench
