// SPDX-License-Identifier: Apache-2.0
// One thread of an FWD on an FSD. It chooses a file or directory that suits its operation, performs the operation, and continues
// until the run ends. The rules and counts of each operation are those of vdbench 5.04.
#pragma once

#include <optional>
#include <string>

#include "base/task.hpp"
#include "threads/sim_context.hpp"
#include "util/random.hpp"
#include "workloads/vdbench/files/tree_thread.hpp"

namespace fsr::vdbench {

class FileThread final : public TreeThread {
 public:
  // `context` must outlive this. `number`: number of the thread in the run.
  FileThread(WorkContext& context, unsigned number);
  SimTask run(SimContext& sim) override;

 private:
  using File = Anchor::File;
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
  Task remove_directory(SimContext& sim, uint64_t directory);
  Task copy_content(SimContext& sim, uint32_t from, uint32_t to);

  // Claims a file for the operation.
  Task find(SimContext& sim, Wanted wanted, bool alone);
  Task unlink(SimContext& sim, Anchor& anchor, uint32_t file, int64_t due);
  Task blocked(SimContext& sim, Event event);
  bool place_transfer(const Open& open, bool reads, uint64_t* offset, uint64_t* length);
  bool enough(const Open& open) const;
  bool more_files(bool to_exist) const;

  Random random_;
  uint32_t found_ = 0;  // file that find() has claimed
  int64_t due_ = 0;     // due time of the current operation; 0: when it is issued
  unsigned blocked_in_a_row_ = 0;
  std::string gave_up_;       // reason why the thread ended; empty: it did not
  std::optional<Open> open_;  // open file of reads and writes
};

}  // namespace fsr::vdbench
