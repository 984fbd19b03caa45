// SPDX-License-Identifier: Apache-2.0
// Unpacks one record, a few operations at a time. The record is untrusted: every count, reference and length is checked.
//
// The record's bytes must outlive the decoding; operations are copied into the caller's batch. Not thread-safe.
#pragma once

#include <memory>
#include <string_view>

#include "../op_source.hpp"
#include "block_contents.hpp"
#include "block_encoder.hpp"

namespace fsr {

struct Row {
  RowType type = RowType::whole;
  const char* impossible = nullptr;  // what the operation holds that none can (impossible_part); null: usable
};

class BlockDecoder {
 public:
  explicit BlockDecoder(uint32_t clock_unit);
  ~BlockDecoder();

  // False: not a record of operations.
  bool begin(std::string_view record);
  // Fills `op` (default-constructed) with the next row, its strings in `arena`; end records carry the seq of the operation whose
  // outcome they tell. False: no more rows, or nothing sensible: see ok().
  bool next(Op* op, Row* row, Arena& arena);
  // Must be called when the caller begins a new batch: copies made for the last one are not referred to again.
  void new_batch();
  bool ok() const;
  uint32_t rows_left() const;
  uint64_t first_seq() const;  // of the record, right after begin()
  // Kinds and threads of the record's operations, from its definitions, right after begin(). Commands are valid as long as the
  // record is. A definition that can't be read clears `complete`.
  BlockContents contents() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fsr
