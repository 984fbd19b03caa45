// SPDX-License-Identifier: Apache-2.0
// Waits inside TargetSession::poll() on the target's clock.
#pragma once

#include <cstdint>
#include <span>

#include "util/unique_fd.hpp"

struct pollfd;

namespace fsr {

class Clock;

// Waits until one of `fds` has an event, a signal arrives or the clock reaches `deadline`, and fills in the revents of `fds`.
// `deadline`: ns; not above the current time: does not wait; INT64_MAX: none. If no event is ready, a VirtualClock is advanced to
// the deadline instead of waiting; without a deadline the wait is a real one. True: an event is ready.
bool wait_for_events(Clock& clock, std::span<pollfd> fds, int64_t deadline);

// An eventfd in non-blocking mode, closed with its owner. Thread-safe.
class EventFd {
 public:
  EventFd();  // throws std::system_error
  int fd() const { return fd_.get(); }
  void signal();
  void clear();  // discards earlier signals

 private:
  UniqueFd fd_;
};

}  // namespace fsr
