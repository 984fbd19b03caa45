// SPDX-License-Identifier: Apache-2.0
// The requests that a client's coroutines make on a shared connection, each one tag on the wire: kept in place, used again, and
// awaited. Belongs to the mutex of the connection.
//
// A protocol's Client has begin(Rpc&), which sends the request or keeps it until there is room, and reply(), what came of the
// latest one that ended.
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

namespace fsr {

// Protocols derive theirs.
template <class Client, class Call, class Derived>
struct RpcBase : wire::Exchange {
  Client* client = nullptr;
  Call* call = nullptr;  // the operation that it is part of; nullptr: the client's own
  uint64_t serial = 0;   // never the same twice, to tell it from a later use; 0: not in use
  std::coroutine_handle<> waiter;
  typename std::list<Derived>::iterator self;
};

template <class Rpc>
class RpcList {
 public:
  // A new request at the end of those in use. The caller sets what is its own.
  template <class Client, class Call>
  Rpc& take(Client* client, Call* call) {
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
  // The request has ended: `from` is the list that it is in. Who awaited it goes on when the handle that is returned, if any, is
  // resumed.
  std::coroutine_handle<> give_back(Rpc& rpc, std::list<Rpc>& from) {
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

// co_await it: begins the request, and yields the reply, valid until the next co_await.
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

// At the end of a session: `poll(until)` collects answers until all calls are finished, or `patience` (ns) is over. True: they
// are.
template <class Poll>
bool all_finish(const std::vector<SharedCall*>& calls, Clock& clock, int64_t patience, Poll poll) {
  auto under_way = [&] { return std::any_of(calls.begin(), calls.end(), [](SharedCall* c) { return !c->finished; }); };
  const int64_t until = clock.now() + patience;
  while (under_way() && clock.now() < until) poll(until);
  return !under_way();
}

}  // namespace fsr
