// SPDX-License-Identifier: Apache-2.0
// The threads that issue requests: process, parent and command of every thread id that FUSE names.
//
// find() may be called by any thread. A known thread costs one lookup in a small table of the calling thread. Its status is read
// at first, then after 4 ms, and each time after twice as long, up to a second. The status shows whether the id was reused. Its
// name shows whether the thread has executed another program, which most do soon after they are made. A thread with a new name,
// or whose start time became known, keeps its id and gets another ThreadInfo. Threads that have ended are forgotten a minute
// later, so that memory follows the threads that live.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "ended_threads.hpp"
#include "op.hpp"
#include "own_thread.hpp"

namespace fsr::shim {

struct ThreadStatus;

class ProcessTable {
 public:
  // Requests the start time of a thread; started() delivers it later. Set this before threads use the table.
  std::function<void(pid_t tid)> ask_start;

  // `now`: any monotonic clock, ns.
  OwnThread find(pid_t tid, int64_t now);
  // Returns a thread of process `pid`. It may not be waiting for this process, so only its name is read from the kernel. A thread
  // that ended before it was known gets the name of its process, or of the parent.
  OwnThread named(pid_t tid, pid_t pid, pid_t parent, int64_t now);
  // Any thread. Delivers the start time that ask_start() requested, in clock ticks since boot.
  void started(pid_t tid, uint64_t ticks);
  // One thread that serves no requests. Call this a few times per second: each call looks at a part of the threads that were not
  // seen for a minute.
  void forget_ended(int64_t now);

 private:
  struct Known {
    OwnThread info;                // id 0: nothing is known
    int64_t until = 0, trust = 0;  // time until which it is trusted, and length of that time; ns
    uint64_t instance = 0;         // ThreadStatus::instance
    uint64_t start_ticks = 0;      // 0: not known yet
    ThreadSeen seen;
  };
  Known refresh(pid_t tid, int64_t now);
  static void define(Known& known, pid_t tid, const ThreadStatus& status, ThreadId id);

  std::mutex mutex_;
  ThreadId last_id_ = 0;
  std::unordered_map<pid_t, Known> current_;
  EndedThreads<std::unordered_map<pid_t, Known>> ended_;
};

}  // namespace fsr::shim
