// SPDX-License-Identifier: Apache-2.0
// A run written down as a trace: each operation as it was issued and as it came back, under the ids that its source gave it.
//
// Workers call begin(), withdraw() and end(); a lock orders them. What has ended is written in the order in which it began; the
// first that is still under way while many others wait behind it is written as a start, its end when it comes. So memory is
// bounded, whatever hangs. When the file can't be written, recording ends and finish() says why; the run goes on.
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

  // Makes `path`, which must not exist. Throws std::runtime_error "FILE: why".
  explicit Recording(const std::string& path);
  ~Recording();

  // `initial`: what is known of the tree before the first operation. `origin`: the clock's time that is the trace's 0. Before
  // the run.
  void start(const TraceHeader& header, LiveState initial);
  void set_origin(int64_t origin) { origin_ = origin; }

  Entry* begin(const Op& op, int64_t issued);  // `op` stays until withdraw() or end()
  void withdraw(Entry* entry);                 // it was not issued after all
  void end(Entry* entry, const Op& op, const Outcome& outcome, int64_t ended);
  // After the run. Throws std::runtime_error "FILE: why" when not all of it is in the file.
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
  std::vector<std::unique_ptr<Entry>> early_;  // written as starts
  std::vector<std::unique_ptr<Entry>> spare_;
  std::string failure_;
};

}  // namespace fsr
