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
#include "recording_end.hpp"
#include "ring.hpp"

namespace fsr::shim {

enum class Overflow { wait, drop };

// Memory of the rings, beside the one chunk that each has for itself.
struct RingSize {
  int64_t time = 1'000'000'000;  // ns for which the memory lasts at the highest load so far; it grows until that is so
  size_t chunk = 2 << 20;        // bytes of a chunk; no record is larger
  size_t start = 32 << 20;       // bytes at the start, before a load is known
  size_t limit = 256 << 20;      // most bytes; if not more than `start`, the memory never grows
};

class Recorder {
 public:
  static constexpr int64_t kRateWindow = 100'000'000;  // ns
  static constexpr int64_t kMostHeld = 500'000'000;    // ns

  // `epoch`: the trace's zero on CLOCK_MONOTONIC, ns.
  Recorder(OpSink& sink, const RingSize& rings, int64_t epoch, Overflow overflow = Overflow::wait);
  ~Recorder();  // stops, if stop() was not called

  // Returns a ring for the calling thread alone, until give_back(). Null: there is no memory for one.
  Ring* borrow();
  void give_back(Ring* ring);

  // Sets op.start. False: not recording. Without a ring the operation is lost, and counted.
  bool begin(Ring* ring, Op& op);
  void end(Ring& ring, Op& op);  // sets op.duration

  // Records an operation that has ended, with its start and duration. False: it comes too late for its place in the order, and is
  // not recorded. It comes in time if hold() was set to its start, or earlier, less than kMostHeld ago.
  bool add(Ring* ring, Op& op);
  // Holds back operations that start at `from` or later, for kMostHeld at most. INT64_MAX: ends the hold.
  void hold(int64_t from) { hold_.store(from, std::memory_order_relaxed); }

  // Writes all recorded operations and finishes the sink. Idempotent. Waits for the writer thread.
  void stop(const std::string& reason);

  bool recording() const { return recording_.load(std::memory_order_relaxed); }
  // Returns the reason why recording failed. Empty: it did not fail.
  std::string failure() const { return end_.failure(); }
  // Returns the reason why recording ended, by itself or by stop(). Empty: it goes on.
  std::string reason() const { return end_.reason(); }
  int64_t now() const;  // ns since the epoch
  uint64_t waited() const { return waited_.load(std::memory_order_relaxed); }
  // Number of requests after the end of recording, and of lost ones before (none, unless recording failed or may drop).
  uint64_t unrecorded() const { return unrecorded_.load(std::memory_order_relaxed); }
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  double ring_fill() const;   // used part of the memory that rings share, 0 to 1
  int64_t ring_time() const;  // see RecorderState
  uint64_t ring_load() const {
    return load_.load(std::memory_order_relaxed);
  }  // the highest so far, bytes in the rings per second
  size_t ring_bytes() const { return pool_.capacity(); }
  size_t merged_rings() const;  // rings in use, or with operations that are not written yet

 private:
  void update_rings();
  bool make_room(Ring& ring, size_t bytes);
  void run();
  void write_all();
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
  std::atomic<int64_t> passed_{INT64_MIN};  // what starts earlier may have been written already
  std::atomic<uint64_t> waited_{0}, dropped_{0}, unrecorded_{0}, load_{0};
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::unique_ptr<Ring>> rings_;
  std::vector<Ring*> free_;
  std::vector<Ring*> unmerged_;  // borrowed, and the merger does not look at them yet
  size_t merged_ = 0;            // rings that the merger looks at
  RecordingEnd end_;
  Merger merger_;
  int64_t measured_at_ = 0;  // time of the last measurement of the load; total_then_: bytes through the rings until then
  uint64_t total_then_ = 0;
  std::thread writer_;
};

}  // namespace fsr::shim
