// SPDX-License-Identifier: Apache-2.0
#include "targets/wire/channel_set.hpp"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "base/clock.hpp"
#include "targets/wait.hpp"

namespace fsr::wire {

constexpr int64_t kLookAgain = 1'000'000;  // ns between two looks at sockets that no descriptor stands for

ChannelSet::ChannelSet(unsigned number, const std::vector<Address>& addresses, const Protocol& protocol,
                       const ChannelOptions& options, Clock& clock, ChannelCounters& counters)
    : clock_(clock), dealt_(number), watched_(number) {
  for (unsigned i = 0; i < number; ++i)
    channels_.push_back(std::make_unique<Channel>(addresses, protocol, options, clock, counters));
  if (number > 1 && !has_epoll()) throw std::system_error(errno, std::generic_category(), "epoll");
}

bool ChannelSet::has_epoll() const {
  if (epoll_ < 0) epoll_ = epoll_create1(EPOLL_CLOEXEC);
  return epoll_ >= 0;
}

ChannelSet::~ChannelSet() {
  if (epoll_ >= 0) close(epoll_);
}

Channel& ChannelSet::add(const std::vector<Address>& addresses, const Protocol& protocol, ChannelOptions options,
                         ChannelCounters& counters) {
  options.lazy = true;
  channels_.push_back(std::make_unique<Channel>(addresses, protocol, options, clock_, counters));
  watched_.emplace_back();
  return *channels_.back();
}

bool ChannelSet::full() const {
  return std::all_of(channels_.begin(), channels_.begin() + ptrdiff_t(dealt_),
                     [](const auto& channel) { return channel->full(); });
}

Channel& ChannelSet::next() {
  Channel* channel;
  do channel = channels_[turn_++ % dealt_].get();
  while (channel->full());
  return *channel;
}

Channel::Woken ChannelSet::poll(int64_t deadline, int wake) {
  if (size() == 1) return channels_[0]->poll(deadline, wake);
  pollfd fds[kMost + 2];
  size_t n = 0;
  for (auto& channel : channels_) {
    channel->poll(INT64_MIN, -1);
    const Channel::Interest interest = channel->interest(deadline);
    deadline = channel->called_back() ? 0 : std::min(deadline, interest.deadline);
    fds[n++] = {.fd = interest.socket, .events = interest.events, .revents = 0};
  }
  fds[n++] = {.fd = wake, .events = POLLIN, .revents = 0};
  if (!wait_for_events(clock_, {fds, n}, deadline)) return Channel::Woken::no;
  for (size_t i = 0; i < size(); ++i)
    if (fds[i].revents) channels_[i]->poll(INT64_MIN, -1);
  return fds[n - 1].revents ? Channel::Woken::yes : Channel::Woken::no;
}

Channel::Interest ChannelSet::interest(int64_t deadline) const {
  if (size() == 1) return channels_[0]->interest(deadline);
  if (!has_epoll()) return {-1, 0, std::min(deadline, clock_.now() + kLookAgain)};  // no descriptor is left
  for (size_t i = 0; i < size(); ++i) {
    const Channel::Interest wanted = channels_[i]->interest(deadline);
    deadline = std::min(deadline, wanted.deadline);
    watch(i, wanted);
  }
  return {epoll_, POLLIN, deadline};
}

// Registers a channel's socket with epoll. epoll drops a socket that is closed, and a new socket may have the same number.
// Sockets are therefore compared by Channel::sockets().
void ChannelSet::watch(size_t i, const Channel::Interest& wanted) const {
  const uint64_t number = channels_[i]->sockets();
  Watched& known = watched_[i];
  if (wanted.socket < 0 || (known.number == number && known.events == wanted.events)) return;
  epoll_event event{};
  event.events = uint32_t(wanted.events);  // EPOLLIN is POLLIN, EPOLLOUT is POLLOUT
  epoll_ctl(epoll_, known.number == number ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, wanted.socket, &event);
  known = {number, wanted.events};
}

void ChannelSet::reset() {
  for (auto& channel : channels_) channel->reset();
}

void ChannelSet::prefer_throughput() {
  for (auto& channel : channels_) channel->prefer_throughput();
}

}  // namespace fsr::wire
