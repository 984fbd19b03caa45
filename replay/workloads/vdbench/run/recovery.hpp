// SPDX-License-Identifier: Apache-2.0
// Compares an SD, or the files of an FSD, with their journal. Pending writes and removals may be done or not. All other blocks
// must be unchanged. One thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "workloads/vdbench/files/anchor.hpp"
#include "workloads/vdbench/pages/reports.hpp"
#include "workloads/vdbench/raw/raw_thread.hpp"
#include "workloads/vdbench/validate/journal.hpp"
#include "workloads/vdbench/validate/validator.hpp"

namespace fsr::vdbench {

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

// `how`: whether to read pending blocks, and all blocks with known keys, which are always read if entries of the journal were
// lost. Sets the keys of `storage`, and checks the storage until a limit of `errors`, which are those of the validator. Blocks of
// `storage` have the same size as those of `known`.
RecoveryResult recover(const RecoveredKeys& known, ValidatedStorage& storage, Validator& validator, const Validation& how,
                       RecoverySource& source, ErrorLog& errors);

// Recovers all SDs or trees from their journals, before the first run.
class RecoveryRun {
 public:
  // `at_error` gets the location of each error that is reported.
  using AtError = std::function<void(const ErrorLocation&)>;
  RecoveryRun(const General& general, Clock& clock, Reports& reports, AtError at_error);

  // Compares with the journal, and adds errors to the reports. Throws std::runtime_error if something can't be read, and at the
  // limit of data_errors=, after its command.
  void recover(const RecoveredKeys& known, const OpenStorage& storage, Target& target);
  void recover(const RecoveredKeys& known, Anchor& anchor, Target& target);  // the anchor must know its existing files
  uint64_t errors() const { return errors_.count(); }
  const std::vector<std::string>& notes() const { return notes_; }  // a line for each storage

 private:
  void recover(const RecoveredKeys& known, ValidatedStorage& storage, RecoverySource& source);

  const General& general_;
  Clock& clock_;
  Reports& reports_;
  std::vector<std::string> notes_;
  std::atomic<bool> over_{false};
  ErrorLog errors_;
};

}  // namespace fsr::vdbench
