// SPDX-License-Identifier: Apache-2.0
// The FUSE session: libfuse's threads on a connection that is mounted already.
#pragma once

#include <pthread.h>

#include <atomic>
#include <thread>

#include "passthrough.hpp"

namespace fsr {

class Session {
 public:
  // `fuse_fd` belongs to the session from now on. Throws Fail.
  Session(Shim& shim, int fuse_fd);
  ~Session();  // ends it if it has not ended

  void start();
  int ended_fd() const { return ended_fd_; }  // readable once the connection is gone
  bool ended() const { return ended_.load(); }
  bool wait_ended(int milliseconds) const;

 private:
  fuse_session* session_ = nullptr;
  int ended_fd_ = -1;
  std::atomic<bool> ended_{false};
  std::thread loop_;
};

}  // namespace fsr
