// SPDX-License-Identifier: Apache-2.0
// Traces that come by a pipe, for subcommands that read once and in order. They need no copy, and show what has come at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "selection.hpp"
#include "trace/stream_reader.hpp"

namespace fsr::fstrace {

// Returns a reader if FILE... is one pipe or socket, which may be standard input. Null: it is something else.
// `ends_by_signal`: SIGINT and the like end the stream, and not the program. Throws std::exception, one line.
std::unique_ptr<StreamReader> open_stream(const std::vector<std::string>& files, bool ends_by_signal);
// The operations of a stream in the range of a selection.
class SelectedStream final : public OpSource {
 public:
  // `paths`: learns the names that were known before; null: not wanted. All must outlive this object.
  SelectedStream(StreamReader& reader, const Selection& selection, Paths* paths)
      : reader_(reader), selection_(selection), paths_(paths) {}
  bool next(OpBatch& batch) override;
  bool passed_end() const { return passed_end_; }  // an operation beyond the range has come

 private:
  StreamReader& reader_;
  const Selection& selection_;
  Paths* const paths_;
  bool begun_ = false, passed_end_ = false;
};

// Prints what the stream lacks. Returns the exit status.
int report_stream(const std::string& file, const StreamReader& reader);

}  // namespace fsr::fstrace
