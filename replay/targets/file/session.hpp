// SPDX-License-Identifier: Apache-2.0
// A session of the `file:` target: decides how each operation is performed (see file_target.hpp). Belongs to one thread.
#pragma once

#include <liburing.h>

#include <memory>
#include <mutex>
#include <vector>

#include "base/bytewise.hpp"
#include "base/clock.hpp"
#include "targets/lock_waiters.hpp"
#include "targets/pool.hpp"
#include "tree.hpp"

namespace fsr {

struct FileShared {
  FileShared(UniqueFd root, const TargetOptions& options, FileAccess access) : tree(std::move(root), options, access) {}
  FileTree tree;
  LockNotifier lock_events;
  Pool pool{32};
};

class FileSession final : public Session, public Bytewise {
 public:
  explicit FileSession(std::shared_ptr<FileShared> shared);
  ~FileSession() override;  // waits for what is under way
  Submit submit(Request& request) override;
  void poll(int64_t deadline, int wake, Completion& sink) override;
  uint64_t by_bytes(const Request& request) override;  // in bytewise.cpp

 private:
  // A request that is under way elsewhere, and the memory of its answer.
  struct Job {
    Request* request = nullptr;
    FileReply reply;
    OpenRef open;  // keeps the descriptor
  };
  static constexpr unsigned kMostJobs = 1024;

  bool attempt(Request& request, int64_t until = INT64_MAX);  // false: must wait for a lock, until then at most
  // Whether a plain call serves best: it waits for this machine's disk at most, and nothing else waits meanwhile.
  bool may_wait(const Request& request) const { return in_memory_ || (request.alone && local_); }
  // The open file of a request's handle; null: none. Found in `*own`, or at hand if a thread that is alone used it last, too.
  const OpenRef& open_file(const Request& request, OpenRef* own);
  void forget_open() { latest_handle_ = 0, latest_open_.reset(); }
  void complete(Request& request) {
    if (!request.untimed) request.outcome.completed = now();
  }
  // False: not by the page cache, or not without waiting where that may not be; nothing was done.
  bool read_cached(Request& request, const OpenFile& open);
  bool write_cached(Request& request, const OpenFile& open);
  bool start_on_ring(Request& request, const OpenRef& open);
  void start_on_thread(std::unique_ptr<Job> job);
  void reap_ring();
  void deliver(Completion& sink);
  std::unique_ptr<Job> take_job(Request& request);
  void recycle(std::unique_ptr<Job> job);
  int64_t now() const { return shared_->tree.options().clock->now(); }

  std::shared_ptr<FileShared> shared_;
  EventFd event_;
  LockWaiters waiters_;
  FileReply reply_;      // of what completes within submit()
  OpenRef latest_open_;  // of a thread that is alone, until it does anything else with the handle than to transfer data
  HandleId latest_handle_ = 0;
  io_uring ring_{};
  bool has_ring_ = false;
  unsigned on_ring_ = 0, on_threads_ = 0;
  bool has_nowait_ = true;       // the file system can read without waiting, as far as is known
  const bool in_memory_;         // it never waits
  const bool local_;             // it waits for no server and no other process
  int64_t write_excess_ = 0;     // ns that buffered writes took beyond what is quick, moving mean
  unsigned writes_to_ring_ = 0;  // that many more, because the page cache was slow to take others
  ReplyBuffer scratch_;          // where content is read to that nobody wants
  std::vector<std::unique_ptr<Job>> spare_, done_;
  std::mutex finished_mutex_;
  std::vector<std::unique_ptr<Job>> finished_;  // by threads
};

}  // namespace fsr
