// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/stream_queue.hpp"

#include <chrono>
#include <utility>

namespace fsr {

constexpr size_t kMost = 64 << 20;  // bytes

static size_t bytes_of(const OpBatch& batch) { return batch.arena.memory() + batch.ops.capacity() * sizeof(Op); }

StreamQueue::StreamQueue(StreamReader& reader) : reader_(reader) {
  reader_.heed(&stop_);
  thread_ = std::thread([this] { read(); });
}

StreamQueue::~StreamQueue() { stop(); }

void StreamQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_.store(1);
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void StreamQueue::read() {
  for (OpBatch batch; reader_.next(batch); batch = OpBatch()) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return bytes_ < kMost || stop_.load() != 0; });
    if (stop_.load() != 0) break;
    bytes_ += bytes_of(batch);
    batches_.push_back(std::move(batch));
    changed_.notify_all();
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

StreamReader::Wait StreamQueue::next_within(OpBatch& batch, int ms) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return !batches_.empty() || ended_; });
  if (batches_.empty()) return ended_ ? StreamReader::Wait::end : StreamReader::Wait::nothing;
  batch = std::move(batches_.front());
  batches_.pop_front();
  bytes_ -= bytes_of(batch);
  changed_.notify_all();
  return StreamReader::Wait::came;
}

}  // namespace fsr
