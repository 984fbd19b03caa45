// SPDX-License-Identifier: Apache-2.0
// Reads a trace file, or the files of a series as one: in order, from a time, from an operation number, cut or damaged. Layout:
// docs/trace-format.md.
//
// One thread at a time. Memory is bounded by one block, the index (56 bytes a block) and what end_records.hpp keeps of the
// operations that outlived their block. A trace is untrusted input. Lengths and decompressed sizes are checked before memory is
// allocated. An operation with a name that is no valid component is counted as damaged.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../op_source.hpp"
#include "block_contents.hpp"
#include "header.hpp"

namespace fsr {

// One stretch of the file that could not be read, or a piece of the series that is missing.
struct TraceDamage {
  uint64_t file_offset = 0;  // bytes, in its file
  uint64_t file_bytes = 0;
  int64_t from = 0, to = 0;  // ns: operations that started between these are missing or incomplete; to < 0 = until the end
  std::string what;          // "block 12: checksum mismatch", "cut: closing statement missing"
};

class LiveState;

class TraceReader final : public OpSource {
 public:
  // Throws std::runtime_error, prefixed "FILE: ", if the file is no trace, or has a newer version. A pipe or "-" must be
  // spooled to a file first (spool.hpp).
  explicit TraceReader(const std::string& path);
  TraceReader(int fd, const std::string& name);  // takes over `fd`, a regular file or a memfd; `name` is for messages
  // Pieces of one series, in any order, or a single trace. Throws also if they are not pieces of one series.
  // `series`: the paths were found by the name of a series, so that the newest piece must be there.
  explicit TraceReader(const std::vector<std::string>& paths, bool series = false);
  ~TraceReader() override;

  const TraceHeader& header() const;
  const TraceClosing* closing() const;             // null: the trace was cut; of a series: sums
  const std::vector<TraceDamage>& damage() const;  // grows while reading; verify reads everything
  uint64_t operations() const;                     // from the index, damaged blocks included as far as known
  int64_t begin_time() const;                      // 0, or the start of the first operation if earlier pieces are not there
  int64_t end_time() const;                        // start of the last operation in the index
  uint64_t blocks() const;
  size_t files() const;
  uint64_t file_bytes() const;
  uint64_t position_bytes() const;  // how far next() has come, for progress

  // Returns operations in start order, each joined with its end. kOpUnfinished: the trace has no end of the operation.
  bool next(OpBatch& batch) override;
  // Leaves out of next() the blocks that `wanted` refuses; damage in their operations is not found. Null: none is left out.
  // A damaged block is not asked about.
  void leave_out_blocks(std::function<bool(const BlockContents&)> wanted);
  // Seeks: the next batch begins with the first operation that started at or after `start`, or with number `seq`.
  void seek_time(int64_t start);
  void seek_op(uint64_t seq);
  // Loads the state of the tree just before `start`, from the nearest checkpoint and the operations that started after it. An
  // operation in flight at `start` counts as done, except for one that waits for a lock. Then the reader is at the position of
  // seek_time(start). Throws std::runtime_error when the state would take more than 2 GiB or memory_budget(), and limits it to
  // that (LiveState::limit).
  void load_state(int64_t start, LiveState& state);
  // Reads all checkpoints, and adds their errors to damage().
  void check_checkpoints();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// True when the first bytes of a file are those of a trace.
bool looks_like_trace(std::string_view first_bytes);

}  // namespace fsr
