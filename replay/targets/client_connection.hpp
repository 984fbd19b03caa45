// SPDX-License-Identifier: Apache-2.0
// A connection that is kept by its protocol's client and shared by the sessions of a target. Operations wait for a lock by asking
// for it again.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "targets/retry_waits.hpp"
#include "targets/shared_session.hpp"

namespace fsr {

template <class Client>
struct ClientConnection : SharedConnection {
  template <class... Settings>
  explicit ClientConnection(Settings&&... settings) : client(std::forward<Settings>(settings)...) {}
  Client client;
  virtual RetryWaits& lock_waits() = 0;

  void advance(int64_t now) override {
    client.advance(now);
    lock_waits().retry(now);
  }
  wire::Channel::Interest interest(int64_t deadline) override { return client.interest(lock_waits().next(deadline)); }
  uint64_t generation() const override { return client.generation(); }
  void cancel(const std::vector<SharedCall*>& calls) override {
    lock_waits().wake();
    client.cancel(calls);
  }
};

}  // namespace fsr
