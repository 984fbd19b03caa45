// SPDX-License-Identifier: Apache-2.0
// Where sessions, each on a thread of its own, wait for each other so that they begin together. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace fsr::lantest {

class CommonStart {
 public:
  // `meet`: called when all are here, to wait for those of other processes; may be empty.
  explicit CommonStart(unsigned sessions, std::function<void()> meet = {}) : meet_(std::move(meet)), sessions_(sessions) {}
  // Returns when all that have not left are here; then it can be used again.
  void wait();
  void leave();  // a session has ended

 private:
  void let_go();

  const std::function<void()> meet_;
  std::mutex mutex_;
  std::condition_variable start_;
  unsigned sessions_, waiting_ = 0;
  uint64_t starts_ = 0;
};

}  // namespace fsr::lantest
