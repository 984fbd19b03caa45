// SPDX-License-Identifier: Apache-2.0
// Compares an SD, or the files of an FSD, with their journal. Pending writes and removals may be done or not; all other blocks
// must be unchanged. One thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "workloads/vdbench/validate/journal.hpp"
#include "workloads/vdbench/validate/validator.hpp"

namespace fsr::vdbench {

struct RecoveryOptions {
  bool ignores_pending = false;  // pending blocks are not read
  bool reads_all = true;         // every block whose key is known; in any case where entries of the journal were lost
};

struct RecoveryResult {
  uint64_t pending = 0, done = 0, not_done = 0, torn = 0;  // pending writes of blocks
  uint64_t removes = 0, removed = 0;                       // pending removals of files
  // If entries of the journal were lost: blocks that a later write left complete, and blocks of which nothing is known.
  uint64_t taken = 0, unclear = 0;
};

// The SD, or the row of all files.
class RecoverySource {
 public:
  virtual ~RecoverySource() = default;
  // Where the SD ends, or the room of the file that has the offset.
  virtual uint64_t end_of(uint64_t offset) const = 0;
  // Bytes that do not reach behind that end, valid until the next call; fewer where a file ends before, none where it is not
  // there. Throws std::runtime_error.
  virtual std::string_view read(uint64_t offset, uint64_t length) = 0;
};

// Sets the keys of `storage`, which has the unit of `known`, and checks it until `over`. Wrong blocks are added to the
// validator's errors.
RecoveryResult recover(const RecoveredKeys& known, ValidatedStorage& storage, Validator& validator,
                       const RecoveryOptions& options, RecoverySource& source, const std::atomic<bool>& over);

}  // namespace fsr::vdbench
