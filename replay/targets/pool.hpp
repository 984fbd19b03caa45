// SPDX-License-Identifier: Apache-2.0
// A pool of threads for blocking calls that io_uring does not offer. A thread starts if there is a job and no thread is idle, up
// to a limit. Threads last until the destructor, which waits for all jobs. Thread-safe.
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
