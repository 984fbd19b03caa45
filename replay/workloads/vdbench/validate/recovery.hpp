// SPDX-License-Identifier: Apache-2.0
// Compares an SD, or the files of an FSD, with their journal. Pending writes and removals may be done or not. All other blocks
// must be unchanged. One thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "workloads/vdbench/validate/journal.hpp"
#include "workloads/vdbench/validate/validator.hpp"

namespace fsr::vdbench {

struct RecoveryOptions {
  bool ignores_pending = false;  // do not read pending blocks
  bool reads_all = true;         // read all blocks with known keys; they are always read if entries of the journal were lost
};

struct RecoveryResult {
  uint64_t pending = 0, done = 0, not_done = 0, torn = 0;  // pending writes of blocks
  uint64_t removes = 0, removed = 0;                       // pending removals of files
  // Counts of blocks if entries of the journal were lost: `taken`: accepted with the content of a later write; `unclear`: not
  // known.
  uint64_t taken = 0, unclear = 0;
};

// Reads the SD, or the row of all files.
class RecoverySource {
 public:
  virtual ~RecoverySource() = default;
  // Returns the end of the SD, or the end of the space of the file that contains the offset.
  virtual uint64_t end_of(uint64_t offset) const = 0;
  // Returns bytes that do not reach beyond end_of(), valid until the next call. Fewer if a file is shorter; none if it does not
  // exist. Throws std::runtime_error.
  virtual std::string_view read(uint64_t offset, uint64_t length) = 0;
};

// Sets the keys of `storage`, and checks the storage until a limit of `errors`, which are those of the validator. Blocks of
// `storage` have the same size as those of `known`.
RecoveryResult recover(const RecoveredKeys& known, ValidatedStorage& storage, Validator& validator,
                       const RecoveryOptions& options, RecoverySource& source, ErrorLog& errors);

}  // namespace fsr::vdbench
