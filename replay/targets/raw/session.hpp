// SPDX-License-Identifier: Apache-2.0
// A session of the `raw:` target, with a ring of io_uring. Used by one thread, the first that submits or polls. Another thread
// may use it once no request is in flight.
#pragma once

#include <liburing.h>

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "targets/file/tree.hpp"
#include "targets/lock_waiters.hpp"
#include "targets/raw/device.hpp"
#include "targets/raw/layout.hpp"
#include "targets/raw/write_ranges.hpp"

namespace fsr::raw {

struct Counters {
  std::atomic<uint64_t> widened_reads = 0, widened_writes = 0, empty = 0, unplaced = 0;
};

struct Shared {
  Device device;
  Layout layout;
  std::optional<Extent> whole;  // the complete device, which is then the extent of each file
  const Extent* find(ObjectId object) const { return whole ? &*whole : layout.find(object); }
  TargetOptions options;
  WriteRanges writes;
  LockNotifier lock_events;  // signalled when a range becomes free
  Counters counters;
};

class RawSession final : public TargetSession {
 public:
  explicit RawSession(std::shared_ptr<Shared> shared);  // throws std::runtime_error if io_uring is not available
  ~RawSession() override;                               // leaves requests in flight, and their memory, to the kernel
  Submit submit(TargetRequest& request) override;
  void poll(int64_t deadline, int wake, Completion& sink) override;

 private:
  enum class Step : uint8_t { read, head, tail, write, sync };
  // A request in flight on the whole blocks from `begin` to `end` of the device, performed in pieces.
  struct Job {
    TargetRequest* request = nullptr;
    Step step = Step::read;
    bool reads_first = false;                 // a write that changes a part of a block
    uint64_t start = 0, length = 0;           // range of the device that the operation addresses
    uint64_t begin = 0, end = 0;              // the same range, extended to whole blocks
    uint64_t at = 0;                          // completed up to here
    uint64_t piece_begin = 0, piece_end = 0;  // the piece in flight
    ReplyBuffer own;
    char* memory = nullptr;  // memory of the piece
  };
  static constexpr unsigned kEntries = 1024;  // entries of the ring, and requests in flight

  bool begin(TargetRequest& request);
  void wait(int64_t deadline);
  void place(Job& job, const Extent& extent);
  bool is_aligned(const Job& job) const;
  void next_piece(Job& job);
  void issue(Job& job);
  bool advance(Job& job, int result);
  void finish(Job& job, int error);
  void watch(int fd, int& watched);
  void make_ring();
  void enable();
  void reap();
  void deliver(Completion& sink);
  io_uring_sqe* get_sqe();
  Job* take_job(TargetRequest& request);
  int64_t now() const { return shared_->options.clock->now(); }

  std::shared_ptr<Shared> shared_;
  EventFd event_;
  LockWaiters waiters_;
  io_uring ring_{};
  const void* owner_ = nullptr;  // identifies the thread that enabled the ring
  bool fixed_scratch_ = false;
  int watched_wake_ = -1, watched_bell_ = -1;
  int64_t timer_ = 0;   // time at which the ring's timer ends a wait; 0: the timer is not set
  int64_t reaped_ = 0;  // time of the current collection of completions; 0: none now
  unsigned under_way_ = 0;
  // For content that the caller does not want; registered buffer 0 if the kernel permits that.
  std::unique_ptr<ReplyBuffer> scratch_ = std::make_unique<ReplyBuffer>();
  std::vector<std::unique_ptr<Job>> all_;
  std::vector<Job*> spare_, done_, delivered_;
};

}  // namespace fsr::raw
