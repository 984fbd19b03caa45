// SPDX-License-Identifier: Apache-2.0
// A mutex that requests for any file need: a thread that holds one never asks the underlying file system, which may not answer.
// Builds with assertions check that.
#pragma once

#include <cassert>
#include <mutex>

namespace fsr::shim {

class BriefMutex {
 public:
  void lock() {
    mutex_.lock();
    ++held_;
  }
  void unlock() {
    --held_;
    mutex_.unlock();
  }
  static bool none_held() { return held_ == 0; }

 private:
  std::mutex mutex_;
  static inline thread_local int held_ = 0;  // by this thread
};

// Before a call that may wait for the underlying file system.
inline void about_to_wait() { assert(BriefMutex::none_held()); }

}  // namespace fsr::shim
