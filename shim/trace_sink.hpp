// SPDX-License-Identifier: Apache-2.0
// Writes recorded operations into a trace file or a series of them. Counts operations that the filter leaves out, keeps to the
// limits, and watches the free space on the trace's file system.
//
// The writer thread calls the OpSink part; the counters may be read by any thread.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "filter.hpp"
#include "fingerprint.hpp"
#include "latencies.hpp"
#include "op_sink.hpp"
#include "trace/writer.hpp"

namespace fsr::shim {

// The files of a series. Outlives the sink.
class PieceFiles {
 public:
  virtual ~PieceFiles() = default;
  // Returns a descriptor of an empty file for piece `number`, 2 or more. Throws std::exception.
  virtual int open_piece(unsigned number) = 0;
  virtual void remove_piece(unsigned number) = 0;  // by another thread than open_piece()
};

struct SinkOptions {
  uint64_t max_bytes = 0;     // bytes of the trace at which recording ends; 0: no limit
  int64_t max_time = 0;       // time at which recording ends, ns since the epoch; 0: no limit
  uint64_t rotate_bytes = 0;  // bytes of a piece at which a new one begins; 0: no limit
  bool stream = false;        // another program reads the trace meanwhile: write sooner
  int64_t block_time = 0;     // ns after which a block is written; 0: the usual time
  int64_t arrival_age = 0;    // ns since their start that operations have at most when they come
  unsigned keep = 0;          // number of pieces to keep, with the one being written; 0: all
  OpFilter* filter = nullptr;
  PieceFiles* pieces = nullptr;  // null: the trace stays one file
  // Called at the end of each file. May be empty.
  std::function<NfsCounters()> nfs_counters = {};
  // Called at each tick and end. Returns how many operations of each kind were left out on their way here. May be empty.
  std::function<std::array<uint64_t, kOpKinds>()> left_out = {};
  std::function<void(TraceClosing&)> mounted_meanwhile = {};  // fills in mounts_below and not_seen
};

class TraceSink final : public OpSink {
 public:
  TraceSink(int fd, const TraceHeader& header, SinkOptions options);  // takes over `fd`
  ~TraceSink() override;

  void add(const Op& op) override;
  uint64_t add_start(const Op& op) override;
  void add_end(uint64_t seq, const Op& op) override;
  bool full() override;
  SinkState tick(int64_t now, const RecorderState& recorder) override;
  void finish(bool clean, const std::string& reason, int64_t end, const RecorderState& recorder) override;

  // The next tick begins a new piece: piece() is then higher, or rotation_failure() says why not.
  void request_rotation() { rotation_requested_.store(true); }
  bool rotation_pending() const { return rotation_requested_.load(); }
  unsigned piece() const { return piece_.load(); }
  std::string rotation_failure() const;  // text of the last failure; empty: none
  bool removed() const;                  // true: the trace, which is one file, has no name any more

  uint64_t operations() const { return operations_.load(std::memory_order_relaxed); }
  uint64_t filtered() const { return filtered_.load(std::memory_order_relaxed); }  // operations that the filter left out
  uint64_t lost() const { return writer_->lost(); }  // after finish(): operations that could not be written
  uint64_t data_bytes() const { return data_bytes_.load(std::memory_order_relaxed); }  // read and written by applications
  uint64_t trace_bytes() const {
    return trace_bytes_.load(std::memory_order_relaxed);
  }                                                          // bytes of all pieces, also of removed ones
  const Latencies& latencies() const { return latencies_; }  // latencies of recorded operations, as of half a second ago
  int64_t end() const { return end_; }
  const std::array<uint64_t, kOpKinds>& by_kind() const { return by_kind_; }  // after finish()

  // Free bytes below which recording must end: 5 % of the file system, between 2 and 64 MiB.
  static uint64_t room_needed(uint64_t file_system_bytes);

 private:
  void count(const Op& op);
  void settle();
  void note_dropped(int64_t now, const RecorderState& recorder);
  uint64_t bytes() const { return closed_bytes_ + writer_->bytes_written(); }
  SinkState look_at_room(uint64_t bytes);
  const Op& measured(const Op& op);
  bool wanted(const Op& op);
  void count_left_out();
  void rotate(int64_t now, const RecorderState& recorder);
  void rotation_failed(const std::string& why);
  TraceClosing closing(int64_t end, const RecorderState& recorder);

  TraceHeader header_;
  CompressionMeter meter_;
  Latencies latencies_;
  Op measured_;
  const SinkOptions options_;
  int watch_fd_;                       // the first piece; for fstatfs()
  SinkState full_;                     // why nothing more may be added
  uint64_t dropped_ = 0;               // dropped operations until tick_
  int64_t tick_ = 0;                   // time of the last tick()
  int64_t first_dropped_ = INT64_MAX;  // start of the earliest dropped operation that is not in dropped_spans_
  std::vector<DroppedSpan> dropped_spans_;
  int64_t look_time_ = 0;    // time of the next check of the free space
  uint64_t look_bytes_ = 0;  // length of the trace at which the free space is checked earlier
  std::unique_ptr<TraceWriter> writer_;
  std::atomic<uint64_t> operations_{0}, filtered_{0}, data_bytes_{0}, trace_bytes_{0};
  std::array<uint64_t, kOpKinds> by_kind_{}, filtered_by_kind_{};  // the second: of this piece only
  std::array<uint64_t, kOpKinds> left_out_{};                      // as told last
  RecorderState of_earlier_pieces_;                                // state at the end of the previous piece
  uint64_t closed_bytes_ = 0;                                      // bytes of the earlier pieces
  uint64_t rotate_at_ = 0;                                         // bytes of this piece at which the next begins
  std::atomic<unsigned> piece_{1};
  std::atomic<bool> rotation_requested_{false};
  mutable std::mutex mutex_;
  std::string rotation_failure_;
  std::thread closer_;  // syncs the last piece and removes old ones
  int64_t end_ = 0;
};

}  // namespace fsr::shim
