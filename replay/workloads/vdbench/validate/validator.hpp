// SPDX-License-Identifier: Apache-2.0
// Transfers of one thread whose content is written so that it can be checked, and checked when it is read again.
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
#include "workloads/vdbench/validate/block_keys.hpp"
#include "workloads/vdbench/validate/journal.hpp"

namespace fsr::vdbench {

// Counts of all threads of a run.
struct ValidationCounts {
  std::atomic<uint64_t> checked{0}, wrong{0};  // blocks
};

// An SD, or the files of an anchor, that are validated. Lasts over the runs.
struct ValidatedStorage {
  std::string name;  // in each sector
  std::string what;  // "sd=sd1 lun=big", "fsd=fsd1 anchor=d"
  // "lba=4096 (0x1000)", after "file=... " where it is of files. The offset is that of the row of all files.
  std::function<std::string(uint64_t offset)> place_text;
  // The LUN or file, and the offset in it.
  std::function<ErrorPlace(uint64_t offset)> place;
  BlockKeys keys;
  std::unique_ptr<Journal> journal;  // may be null
  ValidatedStorage(const Storage& storage, uint64_t size, uint64_t unit);
  ValidatedStorage(const FileSystem& system, uint64_t size, uint64_t unit);  // the owner of the files sets both functions
};

class Validator {
 public:
  // All outlive it. `largest`: bytes of a transfer.
  Validator(ValidatedStorage& storage, const Validation& how, ValidationCounts& counts, ErrorLog& errors, uint64_t largest);

  // Performs `op`, a read or write of whole blocks, and counts it in `row`. A read before a write, and one after it, are not
  // counted. Yields the operation's errno, EIO for a short transfer; kOver where the play ended before it could begin. Wrong
  // blocks are added to the errors, and do not fail the operation. `place`: where the file begins in the row of all.
  static constexpr int kOver = -1;
  Task perform(SimContext& sim, Op op, Row row, int64_t due, uint64_t place = 0);

  // Functions for blocks that no other thread uses.
  uint64_t known_length(uint64_t offset, uint64_t length) const;  // up to the end of the last block whose key is known
  void check(uint64_t offset, std::string_view data, const char* when);
  // Reports blocks with known keys as wrong, because nothing is there.
  void missing(uint64_t offset, uint64_t length, const char* when);

  // The file whose bytes these are is to be removed, and was removed, by the only one that uses it. Both yield an errno.
  Task removes(SimContext& sim, uint64_t offset, uint64_t length);
  int removed(uint64_t offset, uint64_t length);

 private:
  Task read(SimContext& sim, Op op, Row row, int64_t due);
  Task write(SimContext& sim, Op op, Row row, int64_t due);
  Task transfer(SimContext& sim, const Op& op, Row row, const PerformOptions& how);
  Task promise(SimContext& sim, Journal::Kind kind);
  void tell(uint64_t offset, uint64_t size, const char* when, const std::string& wrong);
  // Empty: the block is as written.
  std::string wrong_of(uint64_t offset, std::string_view block, uint8_t key) const;

  ValidatedStorage& storage_;
  const Validation& how_;
  ValidationCounts& counts_;
  ErrorLog& errors_;
  const PageBuffer buffer_;
  uint64_t place_ = 0;                   // of the operation at hand
  std::vector<Journal::Entry> entries_;  // of the write at hand
};

}  // namespace fsr::vdbench
