// SPDX-License-Identifier: Apache-2.0
// Takes operations from the threads that serve requests and hands them, in order of start, to a sink.
//
// begin() and end() are called by many threads, each with its own ring; they use no lock, no allocation and no system call. If
// the rings' memory is full, they wait or drop the operation (both counted). One writer thread empties the rings. It adds memory
// as the load grows, so that the rings last for a certain time when the writer is held up. When the sink fails or asks to stop,
// recording ends while serving goes on: begin() then answers false. Rings live as long as the recorder; the recorder must outlive
// every thread that used it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "merger.hpp"
#include "op_sink.hpp"
#include "ring.hpp"

namespace fsr::shim {

enum class Overflow { wait, drop };

// Memory of the rings, beside the one chunk that each has for itself.
struct RingSize {
  int64_t time = 1'000'000'000;  // ns: grows until it lasts for so long at the highest load so far (of any kRateWindow)
  size_t chunk = 2 << 20;        // bytes; none of them holds a larger record
  size_t start = 32 << 20;       // bytes before a load is known
  size_t limit = 256 << 20;      // bytes; more than `start` to grow at all
};

class Recorder {
 public:
  static constexpr int64_t kRateWindow = 100'000'000;  // ns
  static constexpr int64_t kMostHeld = 200'000'000;    // ns

  // `epoch`: the trace's zero on CLOCK_MONOTONIC, ns.
  Recorder(OpSink& sink, const RingSize& rings, int64_t epoch, Overflow overflow = Overflow::wait);
  ~Recorder();  // stops, if stop() was not called

  // A ring for the calling thread alone, until it is given back. Null: no memory for one.
  Ring* borrow();
  void give_back(Ring* ring);

  // Sets op.start. False: not recording. Without a ring the operation is lost, and counted.
  bool begin(Ring* ring, Op& op);
  void end(Ring& ring, Op& op);  // sets op.duration

  // Records an operation that has ended, from its start and duration on. In its place in the order if hold() was set to its start
  // or an earlier time before that.
  void add(Ring* ring, Op& op);
  // Operations that start at that time or later stay unwritten, for kMostHeld at most. INT64_MAX: the hold ends.
  void hold(int64_t from) { hold_.store(from, std::memory_order_relaxed); }

  // Writes what is there and finishes the sink. Idempotent; waits for the writer thread.
  void stop(const std::string& reason);

  bool recording() const { return recording_.load(std::memory_order_relaxed); }
  // Why recording failed; empty if it did not.
  std::string failure() const;
  // Why it ended, by itself or by stop(); empty while it goes on.
  std::string reason() const;
  int64_t now() const;  // ns since the epoch
  uint64_t waited() const { return waited_.load(std::memory_order_relaxed); }
  // Requests after recording had ended, and ones lost while it was on (none, unless it failed or may drop).
  uint64_t unrecorded() const { return unrecorded_.load(std::memory_order_relaxed); }
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  double ring_fill() const;   // 0..1, of the memory that rings share
  int64_t ring_time() const;  // as RecorderState has it
  uint64_t ring_load() const {
    return load_.load(std::memory_order_relaxed);
  }  // the highest so far, bytes in the rings per second
  size_t ring_bytes() const { return pool_.capacity(); }

 private:
  bool make_room(Ring& ring, size_t bytes);
  void run();
  void write_all();
  void end_for(const SinkState& state);
  void follow_load(int64_t now);
  void note_dropped(int64_t start);
  RecorderState state();  // the writer's

  OpSink& sink_;
  const RingSize size_;
  ChunkPool pool_;
  const int64_t epoch_;
  const Overflow overflow_;
  std::atomic<bool> recording_{true}, stop_{false}, sleeping_{false};
  std::atomic<int64_t> first_dropped_{INT64_MAX};  // start of the earliest since the writer's last state()
  std::atomic<int64_t> hold_{INT64_MAX};
  std::atomic<uint64_t> waited_{0}, dropped_{0}, unrecorded_{0}, load_{0};
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::unique_ptr<Ring>> rings_;
  std::vector<Ring*> free_;
  std::string reason_, failure_;
  Merger merger_;
  size_t known_rings_ = 0;   // how many of rings_ the merger has
  int64_t measured_at_ = 0;  // when the load was measured last, and what had gone through the rings by then
  uint64_t total_then_ = 0;
  std::thread writer_;
};

}  // namespace fsr::shim
