// SPDX-License-Identifier: Apache-2.0
// Reads what the kernel's hooks send, brings it into the order of starts and hands the operations to a sink.
//
// A thread of its own reads, orders and writes. A record comes when its operation has ended. So each waits for kWindow, during
// which operations that started earlier may end. An operation that took longer gets a later start, is marked as inferred, and
// counted.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../recording_end.hpp"
#include "hooks.hpp"
#include "start_order.hpp"
#include "witness_ops.hpp"

namespace fsr::shim {

class WitnessRecorder {
 public:
  static constexpr int64_t kWindow = 500'000'000;  // ns

  // `epoch`: the trace's zero on CLOCK_MONOTONIC, ns. `scope`, `ring_bytes`: as of WitnessHooks. Throws CaptureError.
  WitnessRecorder(OpSink& sink, const WitnessScope& scope, size_t ring_bytes, int64_t epoch);
  ~WitnessRecorder();  // stops, if stop() was not called

  // Attaches the hooks, as WitnessHooks::attach() does, and starts the thread. Throws CaptureError.
  void start(const std::function<void()>& look);
  // Detaches the hooks, writes all that came and finishes the sink. Idempotent.
  void stop(const std::string& reason);

  bool recording() const { return recording_.load(); }
  std::string failure() const { return end_.failure(); }  // the reason why recording failed; empty: it did not
  std::string reason() const { return end_.reason(); }    // the reason why recording ended; empty: it goes on
  WitnessCounters counters() const { return hooks_.counters(); }
  std::array<uint64_t, kOpKinds> left_out() const { return hooks_.left_out(); }
  uint64_t lost() const;  // operations
  uint64_t unended() const { return hooks_.unended(); }
  bool unended_known() const { return hooks_.unended_known(); }
  uint64_t skipped() const { return hooks_.skipped(); }
  uint64_t late() const { return late_.load(); }  // operations that took longer than kWindow
  const std::vector<std::string>& absent() const { return hooks_.absent(); }
  unsigned hooks() const { return hooks_.attached(); }
  int64_t now() const;  // ns since the epoch

 private:
  struct Chunk {
    std::unique_ptr<std::byte[]> bytes;
    size_t used = 0;     // bytes
    size_t records = 0;  // not written yet
  };
  struct Waiting {
    int64_t start;
    uint64_t number;  // in the order of arrival
    const witness_record* record;
    Chunk* chunk;
    WitnessOps::Handles handles;
    bool operator<(const Waiting& other) const {  // the earliest is the greatest
      return start != other.start ? start > other.start : number > other.number;
    }
  };

  // A call that had not ended when the hooks were about to be detached.
  struct Unended {
    witness_record record;
    WitnessOps::Handles handles;
  };

  void keep(const witness_record& record);
  void put(const witness_record& record, WitnessOps::Handles handles);
  Chunk& new_chunk();
  void write_before(int64_t bound);
  void write_rest();
  void run();
  void write_all();
  void detach();  // once, by whichever thread is first; takes 0.1 s for each hook, in which the kernel waits for all tasks
  int64_t length() const;  // after detach(): ns from the epoch to its begin, or to the end of an operation that came later
  RecorderState state();

  OpSink& sink_;
  const int64_t epoch_;
  const std::chrono::milliseconds pause_;
  WitnessHooks hooks_;
  std::unique_ptr<WitnessOps> ops_;
  std::deque<Chunk> chunks_;
  Chunk* chunk_ = nullptr;                           // the last of them; null: none yet
  std::vector<std::unique_ptr<std::byte[]>> spare_;  // of former chunks: new memory costs a page fault every few records
  StartOrder<Waiting> waiting_;
  std::vector<Unended> unended_;
  uint64_t arrived_ = 0;
  int64_t came_ = 0;                              // latest end of a record that came
  int64_t written_ = INT64_MIN;                   // start of the last operation that was added
  int64_t drained_ = 0;                           // time of the last drain but one
  uint64_t dropped_ = 0;                          // lost records that the sink knows of
  std::atomic<uint64_t> late_{0}, unwritten_{0};  // unwritten: records that waited when recording failed
  std::atomic<bool> recording_{true}, stop_{false};
  RecordingEnd end_;
  std::thread thread_;
  std::once_flag detached_;
  int64_t ended_ = 0;  // ns since the epoch: begin of detach()
};

}  // namespace fsr::shim
