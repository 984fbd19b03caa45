// SPDX-License-Identifier: Apache-2.0
// One copy of PostMark (J. Katcher, "PostMark: A New File System Benchmark", Network Appliance TR3022, 1997). For the same seed
// it issues the same operations in the same order as version 1.53.
#pragma once

#include <string>
#include <vector>

#include "base/task.hpp"
#include "op.hpp"
#include "threads/sim_context.hpp"
#include "workloads/postmark/counts.hpp"
#include "workloads/postmark/mt19937.hpp"
#include "workloads/postmark/settings.hpp"
#include "workloads/stdio.hpp"

namespace fsr::postmark {

// Rows of the tally: requests, then the actions that consist of them.
enum Rows : Row { kOpens, kReads, kWrites, kCloses, kUnlinks, kOthers, kFileCreated, kFileRead, kFileAppended, kFileDeleted };
extern const char* const kRowNames[kFileDeleted + 1];

class PostmarkThread final : public SimThread {
 public:
  // `settings` must outlive this. Location number n is target number n of the thread runner. `copy`: 0: the only copy; other
  // copies work in directories of their own below each location. `umask`: for created files. `prints`: prints its progress on
  // standard output.
  PostmarkThread(const Settings& settings, unsigned copy, uint32_t umask, bool prints);
  SimTask run(SimContext& sim) override;

  // Throws std::runtime_error if there is not memory for the files of so many copies.
  static void check_memory(const Settings& settings, unsigned copies);

  const Counts& counts() const { return counts_; }
  // First errors, in the words of the original.
  const std::vector<std::string>& errors() const { return errors_; }
  uint64_t error_count() const { return error_count_; }
  bool out_of_files() const { return out_of_files_; }

 private:
  struct File {
    int64_t size = 0;  // 0: the slot is free
    int64_t number = 0;
    int32_t subdirectory = -1;
    uint32_t location = 0;
    ObjectId object = kNoObject;
  };
  struct Directory {
    ObjectId root = kNoObject;
    std::vector<ObjectId> subdirectories;
  };
  // An open file, with glibc's buffer if it has one.
  struct Stream {
    Op op;  // request in flight
    bool appends = false;
    int64_t offset = 0;  // offset of the next transfer
    int64_t junk = 0;    // position in junk_ of the next bytes to write
    Stdio stdio;
  };

  Task enter(SimContext& sim, uint32_t location);
  Task make_directories(SimContext& sim);
  Task remove_directories(SimContext& sim);
  Task make_directory(SimContext& sim, ObjectId parent, const std::string& name, ObjectId* made);
  Task transact(SimContext& sim);
  Task create(SimContext& sim);
  Task read(SimContext& sim, File& file);
  Task append(SimContext& sim, File& file);
  Task remove(SimContext& sim, File& file);
  Task open(SimContext& sim, Stream& stream, const File& file, int flags);
  // put() and take() transfer all bytes between open and close, block by block. They return 0 or the first error.
  Task put(SimContext& sim, Stream& stream, int64_t bytes);
  Task take(SimContext& sim, Stream& stream, int64_t bytes);
  Task take_buffered(SimContext& sim, Stream& stream, int64_t block);
  // ask() and transfer() issue a request for an open file; await it at once. came() handles the outcome of a transfer, and
  // returns its error.
  SimContext::PerformAwaiter ask(SimContext& sim, Stream& stream, OpKind kind);
  SimContext::PerformAwaiter transfer(SimContext& sim, Stream& stream, OpKind kind, int64_t bytes);
  static int came(Stream& stream, const Outcome& outcome);

  File* free_slot();
  File& any_file();
  ObjectId directory_of(const File& file) const;
  std::string path_of(const File& file) const;
  void failed(const std::string& what);
  void print(const char* text) const;

  const Settings& settings_;
  const unsigned copy_;
  const uint32_t umask_;
  const bool prints_;
  Mt19937 random_;
  std::string junk_;
  std::vector<File> files_;
  size_t next_slot_ = 0;
  size_t lowest_free_ = 0;  // all slots below this one are used
  int64_t number_ = 0;
  std::vector<int64_t> weights_up_to_;  // by location: sum of the weights of this one and all before
  std::vector<Directory> directories_;
  uint32_t location_ = UINT32_MAX;  // current target of the thread
  bool in_transactions_ = false, out_of_files_ = false;
  Counts counts_;
  std::vector<std::string> errors_;
  uint64_t error_count_ = 0;
};

}  // namespace fsr::postmark
