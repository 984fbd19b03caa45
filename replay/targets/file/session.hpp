// SPDX-License-Identifier: Apache-2.0
// A session of the `file:` target. Decides how each operation is performed (see file_target.hpp). Used by one thread.
#pragma once

#include <liburing.h>

#include <memory>
#include <mutex>
#include <vector>

#include "base/by_name.hpp"
#include "base/bytewise.hpp"
#include "base/clock.hpp"
#include "targets/lock_waiters.hpp"
#include "targets/pool.hpp"
#include "tree.hpp"

namespace fsr {

struct FileShared {
  FileShared(UniqueFd root, const TargetOptions& options, FileAccess access);
  FileTree tree;
  const long type;       // f_type of statfs(2); 0: not known
  const bool in_memory;  // true: the file system is in memory and never waits
  const bool local;      // true: the file system waits for disks only, not for a server or another process
  LockNotifier lock_events;
  Pool pool{32};
};

class FileSession final : public TargetSession, public Bytewise, public ByName {
 public:
  explicit FileSession(std::shared_ptr<FileShared> shared);
  ~FileSession() override;  // waits for the operations in flight
  Submit submit(TargetRequest& request) override;
  void poll(int64_t deadline, int wake, Completion& sink) override;
  uint64_t by_bytes(const TargetRequest& request) override;  // in bytewise.cpp
  bool by_name(const Op& op, Outcome& outcome) override;     // in by_name.cpp

 private:
  // A request that is in flight on the ring or on a thread, and the memory of its outcome.
  struct Job {
    TargetRequest* request = nullptr;
    FileReply reply;
    OpenRef open;  // keeps the descriptor
  };
  static constexpr unsigned kMostJobs = 1024;

  bool attempt(TargetRequest& request, int64_t until = INT64_MAX);  // false: it waits for a lock, until `until` at most
  // True: a plain, blocking call is best. It waits for a disk of this machine at most, and no other request waits meanwhile.
  bool may_wait(const TargetRequest& request) const { return in_memory_ || (request.alone && local_); }
  // Returns the open file of a request's handle. Null: none. The reference is to `*own`, or for a lone thread to latest_open_.
  const OpenRef& open_file(const TargetRequest& request, OpenRef* own);
  void forget_open() { latest_handle_ = 0, latest_open_.reset(); }
  void complete(TargetRequest& request) {
    if (!request.untimed) request.outcome.completed = now();
  }
  // These try the page cache. False: nothing was done, because the request could not be performed, or only by waiting.
  bool read_cached(TargetRequest& request, const OpenFile& open);
  bool write_cached(TargetRequest& request, const OpenFile& open);
  bool start_on_ring(TargetRequest& request, const OpenRef& open);
  void start_on_thread(std::unique_ptr<Job> job);
  void reap_ring();
  void deliver(Completion& sink);
  std::unique_ptr<Job> take_job(TargetRequest& request);
  void recycle(std::unique_ptr<Job> job);
  int64_t now() const { return shared_->tree.options().clock->now(); }

  std::shared_ptr<FileShared> shared_;
  EventFd event_;
  LockWaiters waiters_;
  FileReply reply_;      // for requests that complete within submit()
  OpenRef latest_open_;  // the file that a lone thread used last; reset if it uses the handle for anything but data
  HandleId latest_handle_ = 0;
  io_uring ring_{};
  bool has_ring_ = false;
  unsigned on_ring_ = 0, on_threads_ = 0;
  bool has_nowait_ = true;        // false: the file system does not support RWF_NOWAIT
  const bool in_memory_, local_;  // as in FileShared
  int64_t write_excess_ = 0;      // moving mean of the ns that buffered writes took beyond one for each byte
  unsigned writes_to_ring_ = 0;   // writes still to go to the ring, because the page cache was slow
  ReplyBuffer scratch_;           // buffer for content that the caller does not want
  std::vector<std::unique_ptr<Job>> spare_, done_;
  std::mutex finished_mutex_;
  std::vector<std::unique_ptr<Job>> finished_;  // jobs that threads have performed
};

}  // namespace fsr
