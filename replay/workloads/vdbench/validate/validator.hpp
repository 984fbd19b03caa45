// SPDX-License-Identifier: Apache-2.0
// Transfers of one thread that write checkable content, and check it when it is read again.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/page_buffer.hpp"
#include "base/task.hpp"
#include "threads/sim_context.hpp"
#include "workloads/vdbench/error_log.hpp"
#include "workloads/vdbench/language/settings.hpp"
#include "workloads/vdbench/raw/area.hpp"
#include "workloads/vdbench/validate/bad_blocks.hpp"
#include "workloads/vdbench/validate/block_keys.hpp"
#include "workloads/vdbench/validate/journal.hpp"
#include "workloads/vdbench/validate/sector.hpp"

namespace fsr::vdbench {

// Data validation by all threads of a run on this rank.
struct ValidatedRun {
  std::string name{};  // name of the RD, or "recovery"
  uint32_t rank = 0;
  std::atomic<uint64_t> checked{0}, wrong{0};  // blocks
  std::atomic<uint32_t> threads{0};            // numbers of threads that are given
  BadBlocks bad{};
};

// An SD, or the files of an anchor, with data validation. It lasts over all runs.
struct ValidatedStorage {
  std::string name;  // owner in each sector
  std::string what;  // "sd=sd1 lun=big", "fsd=fsd1 anchor=d"
  // Returns "lba=4096 (0x1000)", after "file=... " for files. `offset`: for files, the offset in the row of all files.
  std::function<std::string(uint64_t offset)> place_text;
  // Returns the LUN or file, and the offset in it.
  std::function<ErrorLocation(uint64_t offset)> locate;
  BlockKeys keys;
  ThreadNames threads{};             // writers and readers of the blocks
  std::unique_ptr<Journal> journal;  // may be null
  // Writes the keys to the journal's map, and empties the journal. No thread may use the storage. Throws std::runtime_error.
  void save_keys() const {
    if (journal) journal->begin(keys);
  }
  ValidatedStorage(const Storage& storage, uint64_t size, uint64_t unit);
  ValidatedStorage(const FileSystem& system, uint64_t size, uint64_t unit);  // the owner of the files sets both functions
};

class Validator {
 public:
  // All must outlive this. `largest`: bytes of the largest transfer. Make those of a run before any of its threads runs.
  Validator(ValidatedStorage& storage, const Validation& how, ValidatedRun& run, ErrorLog& errors, uint64_t largest);

  // Performs `op`, a read or write of whole blocks, and counts it in `row`. Reads before and after a write are not counted.
  // Returns the errno of the operation, EIO for a short transfer, or kOver if the run ended before it began. Wrong blocks are
  // added to the errors, and do not make the operation fail. `base`: beginning of the file in the row of all files.
  static constexpr int kOver = -1;
  Task perform(SimContext& sim, Op op, Row row, int64_t due, uint64_t base = 0);

  // Functions for blocks that no other thread uses.
  uint64_t known_length(uint64_t offset, uint64_t length) const;  // length up to the end of the last block with a known key
  void check(uint64_t offset, std::string_view data, const char* when);
  // Reports blocks with known keys as wrong, because no data is there.
  void missing(uint64_t offset, uint64_t length, const char* when);

  // removes() is called before a file is removed, and removed() after it, with the range of the file in the row. No other thread
  // may use the file. Both return an errno.
  Task removes(SimContext& sim, uint64_t offset, uint64_t length);
  int removed(uint64_t offset, uint64_t length);

 private:
  Task read(SimContext& sim, Op op, Row row, int64_t due);
  Task write(SimContext& sim, Op op, Row row, int64_t due);
  Task transfer(SimContext& sim, const Op& op, Row row, const PerformOptions& how);
  Task promise(SimContext& sim, Journal::Kind kind);
  // `shown`: more lines about the block.
  void report(uint64_t offset, uint64_t size, const char* when, const std::string& wrong, const std::string& shown);
  // Describes a wrong block.
  struct Wrong {
    std::string text;           // empty: the block is as written
    std::string_view kind;      // "torn write"
    uint64_t first_sector = 0;  // number of the first wrong sector
    SectorMark rest{};          // of the sectors that are as written; its time is 0 if there are none
  };
  Wrong wrong_of(uint64_t offset, std::string_view block, uint8_t key) const;
  std::string shown(const Wrong& wrong, uint64_t offset, std::string_view block, uint8_t key) const;

  ValidatedStorage& storage_;
  const Validation& how_;
  ValidatedRun& run_;
  const uint32_t thread_;  // number in the run
  const uint16_t name_;    // number of this thread in the names of the storage
  ErrorLog& errors_;
  const PageBuffer buffer_;
  uint64_t base_ = 0;                    // `base` of the current operation
  std::vector<Journal::Entry> entries_;  // entries of the current write
};

}  // namespace fsr::vdbench
