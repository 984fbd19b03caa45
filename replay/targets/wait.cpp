// SPDX-License-Identifier: Apache-2.0
#include "targets/wait.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <system_error>
#include <typeinfo>

#include "base/clock.hpp"

namespace fsr {

bool wait_for_events(Clock& clock, std::span<pollfd> fds, int64_t deadline) {
  bool endless = deadline == std::numeric_limits<int64_t>::max();
  // typeid instead of dynamic_cast, because a dynamic_cast costs as much as reading a clock.
  auto* virtual_clock = typeid(clock) == typeid(VirtualClock) ? static_cast<VirtualClock*>(&clock) : nullptr;
  int64_t left = 0;
  if (!virtual_clock && !endless) {
    // Compare before subtracting, because the difference overflows for INT64_MIN, a deadline that means "do not wait".
    const int64_t now = clock.now();
    if (deadline > now) left = deadline - now;
  }
  timespec timeout{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  int ready = ppoll(fds.data(), fds.size(), endless ? nullptr : &timeout, nullptr);
  if (ready > 0) return true;
  for (pollfd& f : fds) f.revents = 0;  // ppoll() does not set them if it fails with EINTR
  if (virtual_clock && !endless) virtual_clock->advance_to(deadline);
  return false;
}

EventFd::EventFd() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!fd_) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void EventFd::signal() {
  uint64_t one = 1;
  // EAGAIN may be ignored: the counter is full, so that the descriptor is readable already.
  [[maybe_unused]] ssize_t n = write(fd_.get(), &one, sizeof one);
}

void EventFd::clear() {
  uint64_t count;
  [[maybe_unused]] ssize_t n = read(fd_.get(), &count, sizeof count);
}

}  // namespace fsr
