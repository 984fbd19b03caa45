// SPDX-License-Identifier: Apache-2.0
// Who issues requests: thread, process, parent and command of every thread id that FUSE names.
//
// find() may be called by any thread. A known thread costs one look into a small table of the calling thread; /proc is read when
// it is not there, then after 4 ms, and each time after twice as long up to a second: the thread's start time tells whether the
// id was reused, and its name whether it has executed another program, which most do soon after they are made. What find()
// returns lives as long as the table and never changes: a thread with a new name keeps its id and gets another ThreadInfo.
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
  struct Known {
    const ThreadInfo* info = nullptr;
    int64_t until = 0, trust = 0;  // believed until then, for so long at a time; ns
  };
  Known refresh(pid_t tid, int64_t now);

  std::mutex mutex_;
  ThreadId last_id_ = 0;
  std::deque<ThreadInfo> threads_;
  std::deque<std::string> commands_;
  std::unordered_map<pid_t, Known> current_;
};

}  // namespace fsr
