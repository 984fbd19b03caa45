// SPDX-License-Identifier: Apache-2.0
// Waiting inside Session::poll(), on the target's clock.
#pragma once

#include <cstdint>
#include <span>

#include "util/unique_fd.hpp"

struct pollfd;

namespace fsr {

class Clock;

// Waits until one of `fds` has an event, a signal arrives or the clock reaches `deadline` (ns; <= now: doesn't wait), and fills
// in their revents. A VirtualClock is advanced to the deadline instead when nothing is ready; without a deadline (INT64_MAX)
// there is nothing to advance to and the wait is a real one. True when something is ready.
bool wait_for_events(Clock& clock, std::span<pollfd> fds, int64_t deadline);

// An eventfd in non-blocking mode, closed with its owner. Thread-safe.
class EventFd {
 public:
  EventFd();  // throws std::system_error
  int fd() const { return fd_.get(); }
  void signal();
  void clear();  // forgets earlier signals

 private:
  UniqueFd fd_;
};

}  // namespace fsr
