// SPDX-License-Identifier: Apache-2.0
// Reads start times of threads from /proc/TID/stat. A read may block for as long as the thread waits for this capture
// (proc_read.hpp). Therefore a child process reads, and this process never waits for it: a time without an answer stays unknown.
//
// Create it while the process has one thread and no descriptor of the FUSE device. Any thread may call ask(), and one thread
// take().
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

namespace fsr::shim {

class StartTimes {
 public:
  StartTimes();  // throws CaptureError
  ~StartTimes();
  StartTimes(const StartTimes&) = delete;
  StartTimes& operator=(const StartTimes&) = delete;

  void ask(pid_t tid);
  // Calls `receive` with each start time that has arrived. `ticks`: since boot.
  void take(const std::function<void(pid_t tid, uint64_t ticks)>& receive);

 private:
  int questions_ = -1, answers_ = -1;
};

}  // namespace fsr::shim
