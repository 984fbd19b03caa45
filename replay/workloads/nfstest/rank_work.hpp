// SPDX-License-Identifier: Apache-2.0
// The work of one rank of NFSTEST: writes its files, reads other ranks' files, removes its files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/page_buffer.hpp"
#include "base/task.hpp"
#include "op.hpp"
#include "threads/sim_thread.hpp"
#include "workloads/nfstest/settings.hpp"
#include "workloads/nfstest/stage_report.hpp"

namespace fsr {
class SimContext;
class Target;
}  // namespace fsr

namespace fsr::nfstest {

// Returns the rank whose file number `file` is read by `rank`. For each number, every rank's file is read by one rank. `shift` >
// 0.
unsigned writer_for(unsigned rank, uint64_t file, unsigned ranks, unsigned shift);
// Returns the smallest shift with which most ranks read files from another host, or 1 if it makes no difference. `hosts`: by
// rank.
unsigned reader_shift(const std::vector<std::string>& hosts);

struct RankRole {
  unsigned rank = 0, ranks = 1;
  unsigned shift = 1;
  bool sync = false;                   // fsync before each written file is closed
  uint32_t umask = 0;                  // umask for the files
  std::function<bool()> overdue = {};  // Cluster::overdue(); may be null
};

class RankWork {
 public:
  // `settings` must outlive this.
  RankWork(const Settings& settings, const RankRole& role);

  void enter(const Target& target);  // begins a stage
  void set_size(uint64_t units);     // units of each file, in the next stages
  Task write(SimContext& sim);
  Task read(SimContext& sim);
  Task remove(SimContext& sim);  // removes the files of this rank
  // Removes the files of a rank that was lost.
  Task remove_lost(SimContext& sim);
  void set_lost(unsigned rank) { lost_ = rank; }

  // Returns the report of the last stage, and starts an empty one.
  StageReport take_report() { return std::exchange(report_, {}); }

 private:
  struct Stream {
    ObjectId object = kNoObject;
    HandleId handle = 0;
    std::string name;
    uint64_t offset = 0;
  };

  static std::string name_of(unsigned rank, uint64_t file);
  ObjectId& object_of(unsigned writer, uint64_t file);
  ObjectId identity(SimContext& sim, unsigned writer, uint64_t file);
  Task write_file(SimContext& sim, uint64_t file);
  Task read_file(SimContext& sim, unsigned writer, uint64_t file);
  Task put(SimContext& sim, Stream& stream, uint64_t length);
  Task take(SimContext& sim, Stream& stream, uint64_t length, uint64_t* done, unsigned writer);
  Task look(SimContext& sim, const Stream& stream);
  Task remove_files(SimContext& sim, unsigned rank);
  void compare(const Stream& stream, std::string_view data, unsigned writer);
  int fail(const char* what, const Stream& stream, int error);

  const Settings& settings_;
  const RankRole role_;
  uint64_t size_ = 0, buffer_size_ = 0;         // bytes
  PageBuffer buffer_;                           // filled with the byte of this rank
  std::vector<std::vector<ObjectId>> objects_;  // by writer and number of the file
  uint64_t written_ = 0;                        // files that this rank has created or tried to create
  bool by_name_ = false;                        // files are used by their names alone, without a lookup or an identity
  unsigned lost_ = 0;
  StageReport report_;
};

// Runs one stage.
class WorkThread final : public SimThread {
 public:
  using Stage = Task (RankWork::*)(SimContext&);
  WorkThread(RankWork& work, Stage stage) : work_(work), stage_(stage) {}
  SimTask run(SimContext& sim) override;

 private:
  RankWork& work_;
  const Stage stage_;
};

}  // namespace fsr::nfstest
