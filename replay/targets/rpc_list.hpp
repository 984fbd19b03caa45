// SPDX-License-Identifier: Apache-2.0
// A list of the requests that a client's coroutines make. Each request has one tag on the wire, keeps its address, and is reused
// after its end. Protected by the mutex of a shared connection, or used by one thread.
//
// A protocol's `Client` has two functions. The first, begin(Rpc&), sends a request, or keeps it until there is room. The second,
// reply(), returns the reply to the request that ended last.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <iterator>
#include <list>
#include <vector>

#include "base/clock.hpp"
#include "targets/shared_session.hpp"
#include "targets/wire/exchange.hpp"
#include "util/check.hpp"

namespace fsr {

// One request. Protocols derive their own type from it.
template <class Client, class OpCall, class Derived>
struct RpcBase : wire::Exchange {
  Client* client = nullptr;
  OpCall* call = nullptr;  // the operation that the request is part of; null: the client's own request
  uint64_t serial = 0;     // number of this use, which differs from all others; 0: not in use
  std::coroutine_handle<> waiter;
  typename std::list<Derived>::iterator self;
};

template <class Rpc>
class RpcList {
 public:
  // Returns a new request, at the end of `used`. The caller sets the members that its protocol adds.
  template <class Client, class OpCall>
  Rpc& take(Client* client, OpCall* call) {
    if (free_.empty()) free_.emplace_back();
    used.splice(used.end(), free_, free_.begin());
    Rpc& rpc = used.back();
    rpc.self = std::prev(used.end());
    rpc.client = client;
    rpc.call = call;
    rpc.serial = ++serials_;
    rpc.waiter = nullptr;
    rpc.payload = {};
    return rpc;
  }
  // Makes a request that has ended free for reuse. `from`: the list that it is in. Returns the coroutine that awaits the request,
  // which the caller resumes. Null: no coroutine awaits it.
  std::coroutine_handle<> give_back(Rpc& rpc, std::list<Rpc>& from) {
    FSR_CHECK(rpc.serial != 0, "a request ends twice");
    rpc.serial = 0;
    free_.splice(free_.end(), from, rpc.self);
    return rpc.waiter;
  }
  std::coroutine_handle<> give_back(Rpc& rpc) { return give_back(rpc, used); }

  std::list<Rpc> used;

 private:
  std::list<Rpc> free_;
  uint64_t serials_ = 0;
};

// An awaiter that begins the request. co_await returns the reply, which is valid until the next co_await.
template <class Client, class Rpc>
struct ReplyAwaiter {
  Client& client;
  Rpc& rpc;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) {
    rpc.waiter = h;
    client.begin(rpc);
  }
  const auto& await_resume() const { return client.reply(); }
};

// Waits at the end of a session until all calls are finished, `timeout` ns at most. `poll(until)` collects replies. True: all
// are finished.
template <class Poll>
bool all_finish(const std::vector<SharedCall*>& calls, Clock& clock, int64_t timeout, Poll poll) {
  auto in_flight = [&] { return std::any_of(calls.begin(), calls.end(), [](SharedCall* c) { return !c->finished; }); };
  const int64_t until = clock.now() + timeout;
  while (in_flight() && clock.now() < until) poll(until);
  return !in_flight();
}

}  // namespace fsr
