// SPDX-License-Identifier: Apache-2.0
// Takes operations out of the pipe of a capture as they come, by a thread of its own. So the capture need not wait while the
// replay prepares files, or its target stands still. The queue holds 64 MiB at most; beyond that, the stream waits in PipeSpool.
//
// One thread calls the functions; the other one is inside.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "trace/stream_reader.hpp"

namespace fsr {

class StreamQueue {
 public:
  explicit StreamQueue(StreamReader& reader);  // `reader` belongs to the thread until stop()
  ~StreamQueue();
  StreamQueue(const StreamQueue&) = delete;
  StreamQueue& operator=(const StreamQueue&) = delete;

  // Waits for operations, for `ms` at most. After `end` nothing comes any more.
  StreamReader::Wait next_within(OpBatch& batch, int ms);
  void stop();  // reads no further

 private:
  void read();

  StreamReader& reader_;
  std::atomic<int> stop_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<OpBatch> batches_;
  size_t bytes_ = 0;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace fsr
