// SPDX-License-Identifier: Apache-2.0
// What an SD holds beside what its journal says: pending writes are there or not, all others are as they were. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "workloads/vdbench/validate/journal.hpp"
#include "workloads/vdbench/validate/validator.hpp"

namespace fsr::vdbench {

struct RecoveryOptions {
  bool ignores_pending = false;  // what they hold is not asked
  bool reads_all = true;         // every block whose key is known
};

struct RecoveryResult {
  uint64_t pending = 0, done = 0, not_done = 0, torn = 0;  // pending writes of blocks
};

// Bytes of the SD, valid until the next call. Throws std::runtime_error.
using ReadStorage = std::function<std::string_view(uint64_t offset, uint64_t length)>;

// Sets the keys of `storage`, which has the unit of `known`, and checks it. What is wrong is told to the validator's errors.
RecoveryResult recover(const RecoveredKeys& known, ValidatedStorage& storage, Validator& validator,
                       const RecoveryOptions& options, const ReadStorage& read);

}  // namespace fsr::vdbench
