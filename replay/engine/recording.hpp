// SPDX-License-Identifier: Apache-2.0
// Records a run as a trace: each operation as it was issued and completed, under the ids of its source.
//
// Workers call begin(), withdraw() and end(), which a lock orders. Ended operations are written in the order in which they began.
// If many wait for an earlier one that is still in flight, that one is written as a start, and its end later. So memory is
// bounded, even if an operation hangs. If the file can't be written, finish() throws the reason; the run goes on.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/op_copy.hpp"
#include "trace/writer.hpp"

namespace fsr {

struct Outcome;

class Recording {
 public:
  struct Entry;

  // Creates `path`, which must not exist. Throws std::runtime_error "FILE: why".
  explicit Recording(const std::string& path);
  ~Recording();

  // Begins the trace; call it before the run. `initial`: what is known of the tree before the first operation. `origin`: time of
  // the clock that is 0 in the trace.
  void start(const TraceHeader& header, LiveState initial);
  void set_origin(int64_t origin) { origin_ = origin; }

  Entry* begin(const Op& op, int64_t issued);  // `op` must live until withdraw() or end()
  void withdraw(Entry* entry);                 // the operation was not issued after all
  void end(Entry* entry, const Op& op, const Outcome& outcome, int64_t ended);
  // Ends the trace; call it after the run. Throws std::runtime_error "FILE: why" if not all of it is in the file.
  void finish(bool whole, const std::string& reason);

 private:
  void settle();
  void write_start(Entry& entry);
  void failed(const std::string& why);
  void recycle(std::unique_ptr<Entry> entry);

  const std::string path_;
  int fd_;
  std::unique_ptr<TraceWriter> writer_;
  int64_t origin_ = 0;
  std::mutex mutex_;
  int64_t last_ = 0, end_ = 0;
  std::deque<std::unique_ptr<Entry>> order_;
  std::vector<std::unique_ptr<Entry>> early_;  // in flight, written as starts
  std::vector<std::unique_ptr<Entry>> spare_;
  std::string failure_;
};

}  // namespace fsr
