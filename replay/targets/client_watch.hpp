// SPDX-License-Identifier: Apache-2.0
// Finds the clients of a target that have something to do, among thousands. Causes are an event of its socket, a time
// that is reached, and requests to send. One epoll descriptor stands for all of their sockets. Protected by the connection's
// mutex.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "targets/wire/channel.hpp"
#include "util/unique_fd.hpp"

namespace fsr {

class ClientWatch {
 public:
  explicit ClientWatch(uint32_t clients);  // throws std::system_error

  // Says that a client has requests to send.
  void touch(uint32_t client) {
    if (std::exchange(clients_[client].listed, true)) return;
    touched_.push_back(client);
  }
  // Returns the clients that must advance now. Call update() for each. Valid until the next call.
  const std::vector<uint32_t>& take_ready(int64_t now);
  // `wanted`: the client's socket, events and time. `sockets`: number of its socket, which differs from those before.
  void update(uint32_t client, const wire::Channel::Interest& wanted, uint64_t sockets);
  wire::Channel::Interest interest(int64_t deadline) const;

 private:
  struct Watched {
    int64_t due;           // ns; entry in due_; kNever: there is none
    uint64_t sockets = 0;  // number of the socket in epoll_
    short events = 0;
    bool listed = false;  // in touched_
  };
  using Due = std::pair<int64_t, uint32_t>;

  UniqueFd epoll_;
  std::vector<Watched> clients_;
  std::vector<uint32_t> touched_, ready_;
  // Times of the clients. A client's time moves to later with each reply, so that most entries are early when they are reached.
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

constexpr int64_t kReturnPause = 1'000'000'000;  // ns between two attempts of an idle client to replace its lost connection

// The place of a client in its ClientWatch. Null: it is the only client of its target.
struct WatchedClient {
  ClientWatch* watch = nullptr;
  uint32_t number = 0;
  void touch() {
    if (watch) watch->touch(number);
  }
};

}  // namespace fsr
