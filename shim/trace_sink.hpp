// SPDX-License-Identifier: Apache-2.0
// Writes recorded operations into a trace file, counts them, and watches the room that is left on the trace's file system.
//
// The writer thread calls the OpSink part; the counters may be read by any thread.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>

#include "op_sink.hpp"
#include "trace/writer.hpp"

namespace fsr {

class TraceSink final : public OpSink {
 public:
  // Takes over `fd`. `closing_mountstats` is asked once, at the end.
  TraceSink(int fd, const TraceHeader& header, std::function<std::string()> closing_mountstats);
  ~TraceSink() override;

  void add(const Op& op) override;
  uint64_t add_start(const Op& op) override;
  void add_end(uint64_t seq, const Op& op) override;
  std::string tick(int64_t now) override;
  void finish(bool clean, const std::string& reason, int64_t end, uint64_t dropped, uint64_t waited) override;

  uint64_t operations() const { return operations_.load(std::memory_order_relaxed); }
  uint64_t lost() const { return writer_->lost(); }  // after finish(): operations that could not be written
  uint64_t data_bytes() const { return data_bytes_.load(std::memory_order_relaxed); }  // read and written by applications
  uint64_t trace_bytes() const { return trace_bytes_.load(std::memory_order_relaxed); }
  int64_t end() const { return end_; }
  const std::array<uint64_t, kOpKinds>& by_kind() const { return by_kind_; }  // after finish()

  // Free bytes below which recording must end: 5 % of the file system, between 2 and 64 MiB.
  static uint64_t room_needed(uint64_t file_system_bytes);

 private:
  void count(const Op& op);

  int watch_fd_;  // for statfs
  std::unique_ptr<TraceWriter> writer_;
  std::function<std::string()> closing_mountstats_;
  std::atomic<uint64_t> operations_{0}, data_bytes_{0}, trace_bytes_{0};
  std::array<uint64_t, kOpKinds> by_kind_{};
  int64_t end_ = 0;
};

}  // namespace fsr
