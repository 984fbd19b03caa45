// SPDX-License-Identifier: Apache-2.0
// When threads started, from /proc/TID/stat, which may be held up by the thread for as long as that waits for this very capture
// (proc_read.hpp). So a child process reads it, and nobody ever waits for that: what it does not tell stays unknown.
//
// Make it while the process has one thread and no descriptor of the FUSE device. ask() may be called by any thread, take() by
// one.
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
  // Calls `receive` with the answers that have arrived; ticks since boot.
  void take(const std::function<void(pid_t tid, uint64_t ticks)>& receive);

 private:
  int questions_ = -1, answers_ = -1;
};

}  // namespace fsr::shim
