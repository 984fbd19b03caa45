// SPDX-License-Identifier: Apache-2.0
// Where sessions, each on a thread of its own, wait for each other so that they begin together. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace fsr::lantest {

class CommonStart {
 public:
  explicit CommonStart(unsigned sessions) : sessions_(sessions) {}
  // Returns when all that have not left are here; then it can be used again.
  void wait();
  void leave();  // a session has ended

 private:
  void let_go();

  std::mutex mutex_;
  std::condition_variable start_;
  unsigned sessions_, waiting_ = 0;
  uint64_t starts_ = 0;
};

}  // namespace fsr::lantest
