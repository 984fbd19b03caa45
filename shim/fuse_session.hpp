// SPDX-License-Identifier: Apache-2.0
// The FUSE session: libfuse's threads on a connection that is mounted already.
#pragma once

#include <pthread.h>

#include <atomic>
#include <string>
#include <thread>

#include "passthrough.hpp"

namespace fsr::shim {

class FuseSession {
 public:
  // `fuse_fd` belongs to the session from now on. `uring`: requests arrive over io_uring, one queue for each processor, if both
  // sides can (uring_problem() says so before). Throws CaptureError.
  FuseSession(Shim& shim, int fuse_fd, bool uring);
  ~FuseSession();  // stops the session, however long that takes

  void start();
  // Ends the session if it has not ended, and waits until no thread serves a request. False: the underlying file system holds
  // lock requests although they were interrupted; their threads still use the Shim.
  bool stop();
  int ended_fd() const { return ended_fd_; }  // readable once the connection is gone
  bool ended() const { return ended_.load(); }
  int connection_fd() const;  // has POLLERR once the connection is gone, while threads may still hang in the file system beneath
  bool over_uring() const;    // waits for the connection's first exchange
  bool wait_ended(int milliseconds) const;

 private:
  fuse_session* session_ = nullptr;
  int ended_fd_ = -1;
  std::atomic<bool> ended_{false};
  std::thread loop_;
};

// "/dev/fuse, libfuse 3.14.0", for the trace's header.
std::string transport_text(bool uring);

// Why FUSE over io_uring can't be used here, and what to do about it; empty: it can.
std::string uring_problem();

}  // namespace fsr::shim
