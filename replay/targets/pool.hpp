// SPDX-License-Identifier: Apache-2.0
// Threads for calls that block and that io_uring has not got. Thread-safe. Threads start when there is work and none is idle, up
// to a limit, and stay until the pool goes, which waits for what is running.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace fsr {

class Pool {
 public:
  explicit Pool(unsigned limit) : limit_(limit) {}
  ~Pool();
  void run(std::function<void()> job);

 private:
  void work();

  const unsigned limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
  unsigned idle_ = 0;
  bool ending_ = false;
};

}  // namespace fsr
