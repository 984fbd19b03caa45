// SPDX-License-Identifier: Apache-2.0
// Who issues requests: thread, process, parent and command of every thread id that FUSE names.
//
// find() may be called by any thread. A thread seen within the last second costs one look into a small table of the calling
// thread; otherwise /proc is read, and the thread's start time tells whether the id was reused. What find() returns lives as long
// as the table and never changes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "op.hpp"

namespace fsr {

class ProcessTable {
 public:
  // `now`: any monotonic clock, ns.
  const ThreadInfo* find(pid_t tid, int64_t now);

  // Supplementary groups of a thread at this moment. False: it is gone.
  static bool groups_of(pid_t tid, std::vector<gid_t>& groups);

 private:
  const ThreadInfo* refresh(pid_t tid);

  std::mutex mutex_;
  std::deque<ThreadInfo> threads_;
  std::deque<std::string> commands_;
  std::unordered_map<pid_t, const ThreadInfo*> current_;
};

}  // namespace fsr
