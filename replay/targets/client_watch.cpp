// SPDX-License-Identifier: Apache-2.0
#include "targets/client_watch.hpp"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <limits>
#include <system_error>

namespace fsr {

namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr int kEventsAtOnce = 128;  // limited, so that operations are submitted meanwhile

}  // namespace

ClientWatch::ClientWatch(uint32_t clients) : epoll_(epoll_create1(EPOLL_CLOEXEC)), clients_(clients, Watched{.due = kNever}) {
  if (epoll_.get() < 0) throw std::system_error(errno, std::generic_category(), "epoll");
}

const std::vector<uint32_t>& ClientWatch::take_ready(int64_t now) {
  epoll_event events[kEventsAtOnce];
  const int found = epoll_wait(epoll_.get(), events, kEventsAtOnce, 0);
  for (int i = 0; i < found; ++i) touch(events[i].data.u32);
  while (!due_.empty() && due_.top().first <= now) {
    const auto [at, client] = due_.top();
    due_.pop();
    if (clients_[client].due != at) continue;
    clients_[client].due = kNever;
    touch(client);
  }
  ready_.clear();
  ready_.swap(touched_);
  for (uint32_t client : ready_) clients_[client].listed = false;
  return ready_;
}

// epoll drops a socket that is closed, and a new socket may have the same number. So sockets are compared by `sockets`.
void ClientWatch::update(uint32_t client, const wire::Channel::Interest& wanted, uint64_t sockets) {
  Watched& known = clients_[client];
  if (wanted.socket >= 0 && (known.sockets != sockets || known.events != wanted.events)) {
    epoll_event event{};
    event.events = uint32_t(wanted.events);  // EPOLLIN is POLLIN, EPOLLOUT is POLLOUT
    event.data.u32 = client;
    epoll_ctl(epoll_.get(), known.sockets == sockets ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, wanted.socket, &event);
    known.sockets = sockets;
    known.events = wanted.events;
  }
  if (wanted.deadline <= 0) {
    touch(client);
  } else if (wanted.deadline < known.due) {
    known.due = wanted.deadline;
    due_.emplace(wanted.deadline, client);
  }
}

wire::Channel::Interest ClientWatch::interest(int64_t deadline) const {
  if (!touched_.empty()) deadline = 0;
  if (!due_.empty()) deadline = std::min(deadline, due_.top().first);
  return {epoll_.get(), POLLIN, deadline};
}

}  // namespace fsr
