// SPDX-License-Identifier: Apache-2.0
// Barrier for sessions on threads of their own, so that they begin at the same time. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace fsr::lantest {

class CommonStart {
 public:
  // `meet`: called when all sessions are here, to wait for those of other processes. May be empty.
  explicit CommonStart(unsigned sessions, std::function<void()> meet = {}) : meet_(std::move(meet)), sessions_(sessions) {}
  // Returns when all sessions that have not left are here. Can be used again after that.
  void wait();
  void leave();  // called when a session has ended

 private:
  void let_go();

  const std::function<void()> meet_;
  std::mutex mutex_;
  std::condition_variable start_;
  unsigned sessions_, waiting_ = 0;
  uint64_t starts_ = 0;
};

}  // namespace fsr::lantest
