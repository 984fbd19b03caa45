// SPDX-License-Identifier: Apache-2.0
// Writes a trace file. Layout: docs/trace-format.md.
//
// One thread at a time. Memory is bounded by the open block plus the live state kept for checkpoints, which is bounded too. A
// failed write throws std::system_error once. After that every call but finish() does nothing, and the file on disk stays
// readable. A closing statement with what is missing is then written by finish(), if there is space for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "header.hpp"
#include "live_state.hpp"

namespace fsr {

struct WriterOptions {
  int level = 3;                         // zstd
  size_t block_ops = 16384;              // a block closes at this many operations,
  size_t block_bytes = 1 << 20;          // at about this many raw bytes,
  int64_t block_ns = 1'000'000'000;      // or when its first operation is this old (tick)
  bool attributes = true;                // false: leave out the attributes that replies contained
  uint64_t checkpoint_bytes = 16 << 20;  // compressed bytes between checkpoints of the live state
  size_t known_bytes = 256 << 20;        // for that state: the million files that were used last
};

class TraceWriter {
 public:
  // Takes over `fd`, an empty file opened for writing, or a pipe, and writes the header. If that has O_NONBLOCK,
  // writing fails with ETIMEDOUT once its reader has taken nothing for 30 s. Throws std::system_error.
  TraceWriter(int fd, const TraceHeader& header, const WriterOptions& options = {});
  // `initial`: what is known of the tree before the first operation, if the operations continue others.
  TraceWriter(int fd, const TraceHeader& header, const WriterOptions& options, LiveState initial);
  ~TraceWriter();  // closes the file without a closing statement if finish() was not called

  // Operations must come in order of start; `seq` is assigned by the writer and returned. Copies the memory that `op` points to.
  uint64_t add(const Op& op);
  // Writes an operation that is still in flight while later ones must be written: its start, and later its end. The position in
  // the order is that of add_start(); add_end() takes the complete operation again with its outcome.
  uint64_t add_start(const Op& op);
  void add_end(uint64_t seq, const Op& op);

  // Closes the open block if `now` (ns since the trace's epoch) says that it's old enough. Call at least every 250 ms.
  void tick(int64_t now);
  void flush();  // closes the open block
  // Writes the index and the closing statement, syncs and closes. `closing.operations` and `by_kind` are filled in here.
  void finish(TraceClosing closing);
  // Finishes the file as a piece of a series and goes on in `fd`, which the writer takes over. The new file begins with `header`
  // and a checkpoint; operation numbers go on. Returns the old file's descriptor, for the caller to sync and close.
  int rotate(int fd, const TraceHeader& header, TraceClosing closing);

  uint64_t operations() const;
  uint64_t lost() const;           // operations that are not in the file because writing failed
  uint64_t bytes_written() const;  // compressed, so far, to the file in hand

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// `op` with only the members that were known at its start: for add_start().
Op begun(Op op);

}  // namespace fsr
