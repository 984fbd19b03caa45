// SPDX-License-Identifier: Apache-2.0
// The output of subcommands that make traces: its options, and a writer whose file appears complete or not at all.
#pragma once

#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "op_source.hpp"
#include "trace/writer.hpp"
#include "util/command.hpp"
#include "util/output_file.hpp"

namespace fsr {
class TraceReader;
}

namespace fsr::fstrace {

struct OutputOptions {
  std::string file;
  bool force = false, archive = false;
  int level = 0;  // zstd, 0: not given

  void add(Command& command);
  WriterOptions writer() const;
};

class TraceOutput {
 public:
  // Throws std::exception, one line, if the file exists or can't be made.
  TraceOutput(const OutputOptions& options, const TraceHeader& header, LiveState initial);

  // Adds operations in order of start. Splits an operation that lasted longer than a block into start and end again, so that the
  // checkpoints in between list it as unfinished.
  void add(const Op& op);
  // Writes the closing statement and gives the file its name. `end` and counts are filled in here.
  void finish(TraceClosing closing);
  uint64_t operations() const { return writer_->operations(); }
  uint64_t bytes() const { return writer_->bytes_written(); }

 private:
  struct LongOp {
    uint64_t seq = 0;
    std::unique_ptr<OpBatch> batch;  // holds the operation
    int64_t end() const { return batch->ops[0].end(); }
    bool operator>(const LongOp& other) const { return end() > other.end(); }
  };
  void end_until(int64_t time);

  OutputFile file_;
  std::unique_ptr<TraceWriter> writer_;
  std::priority_queue<LongOp, std::vector<LongOp>, std::greater<>> under_way_;
  int64_t end_ = 0;
};

// The header of a trace made out of another one: a new id, and a word about what was done.
TraceHeader edited(const TraceHeader& original, const std::string& what);
// The time of the original that a copy has, ns: [from, to). `shift` is added.
struct TakenTime {
  int64_t from = INT64_MIN, to = INT64_MAX, shift = 0;
};
// The closing statement of a trace made of this one, which was read to its end.
TraceClosing closing_after(const TraceReader& reader, const std::string& subcommand, const TakenTime& taken = {});
// Prints on stderr, in one line, what the capture did not record and that it ended badly, if so. Null: counts as damage.
void report_lacks(const std::string& file, const TraceClosing* closing);
// The same, and what could not be read. Returns the exit status that follows from the latter.
int report_damage(const std::string& file, const TraceReader& reader);
// "out.zst: 12 of 345 operations, 1.2 KiB" on standard output.
void report_output(const OutputOptions& options, const TraceOutput& output, uint64_t seen);

}  // namespace fsr::fstrace
