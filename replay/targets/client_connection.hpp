// SPDX-License-Identifier: Apache-2.0
// The connection of one or more clients that the sessions of a target share. Each client has its own connection, identity and
// lease. Streams are dealt to clients in the order of their first operations. Operations on an open file go to the client that
// opened it. A copy goes to the client that opened its destination. lock_homes.hpp chooses the client of record locks. Operations
// wait for a lock by asking for it again.
//
// A protocol's client derives from WatchedClient, and calls touch() whenever it has a request to send. It has these functions:
//   connect()     begins to connect and to make what its protocol needs before the first operation
//   connecting()  true: that has not ended; connect_error(): 0, or the errno with which it ended
//   begin_end(), ending()   the same for its end; end_everything() ends it at once, with its requests
#pragma once

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/client_figures.hpp"
#include "base/clock.hpp"
#include "base/no_answer.hpp"
#include "base/restart_figures.hpp"
#include "targets/client_watch.hpp"
#include "targets/lock_homes.hpp"
#include "targets/retry_waits.hpp"
#include "targets/shared_session.hpp"
#include "targets/wait.hpp"

namespace fsr {

template <class Client>
struct ClientConnection : SharedConnection {
  template <class... Settings>
  explicit ClientConnection(Settings&&... settings) : client(std::forward<Settings>(settings)...) {}
  Client client;  // the first, with the number 0
  ~ClientConnection() override {
    for (uint32_t k = 0; k < number_of_clients(); ++k) static_cast<WatchedClient&>(at(k)) = {};  // the watch ends before them
  }
  virtual RetryWaits& lock_waits() = 0;

  uint32_t number_of_clients() const { return uint32_t(1 + others_.size()); }
  Client& at(uint32_t number) { return number ? *others_[number - 1] : client; }
  // True: the owner has record locks on the object at the client `number`.
  virtual bool holds_locks(uint32_t number, ObjectId object, uint64_t owner) = 0;
  // Returns the client that opened the open instance. Null: none of several clients did.
  Client* opener(HandleId handle) {
    const auto it = openers_.find(handle);
    return it == openers_.end() ? nullptr : &at(it->second);
  }

  // Makes clients until there are `number`, by `make(k)`, and connects them, some at a time. `patience`: ns without progress
  // after which it gives up. Returns the number of clients that are connected; less than `number`: *error is why.
  template <class Make>
  uint32_t add_clients(uint32_t number, int64_t patience, Make make, int* error) {
    watch_.emplace(number);
    figures_.resize(number);
    ended_.begin(clock().now());
    while (number_of_clients() < number) others_.push_back(make(number_of_clients()));
    for (uint32_t k = 0; k < number; ++k) {
      static_cast<WatchedClient&>(at(k)) = {&*watch_, k};
      watch_->touch(k);
    }
    *error = 0;
    uint32_t connected = 1;
    std::vector<uint8_t> attempts(number);
    const bool all = each(
        1, patience,
        [&](uint32_t k) {
          if (*error) return;
          figures_[k].set_up = -clock().now();
          at(k).connect();
        },
        [&](uint32_t k) {
          if (at(k).connecting()) return true;
          if (figures_[k].set_up == 0) return false;  // not begun
          const bool broke = at(k).connect_error() == ECONNRESET || at(k).connect_error() == ENOTCONN;
          if (broke && ++attempts[k] < kMostAttempts) {
            at(k).connect();
            return true;
          }
          figures_[k].set_up += clock().now();
          connected += at(k).connect_error() == 0;
          if (!*error) *error = at(k).connect_error();
          return false;
        });
    if (!all && !*error) *error = ETIMEDOUT;
    return connected;
  }
  // Ends all clients, some at a time, as long as the server replies within `patience` ns.
  void end_clients(int64_t patience) {
    each(
        0, patience, [&](uint32_t k) { at(k).begin_end(); }, [&](uint32_t k) { return at(k).ending(); });
    for (uint32_t k = 0; k < number_of_clients(); ++k) at(k).end_everything();
  }

  std::vector<ClientFigures> figures() {
    std::lock_guard lock(mutex);
    for (uint32_t k = 0; k < figures_.size(); ++k) at(k).add_figures(&figures_[k]);
    return figures_;
  }

  void advance(int64_t now) override {
    if (!watch_) {
      client.advance(now);
    } else {
      for (uint32_t k : watch_->take_ready(now)) {
        Client& one = at(k);
        one.advance(now);
        watch_->update(k, one.interest(INT64_MAX), one.sockets());
      }
    }
    lock_waits().retry(now);
  }
  wire::Channel::Interest interest(int64_t deadline) override {
    deadline = lock_waits().next(deadline);
    return watch_ ? watch_->interest(deadline) : client.interest(deadline);
  }
  uint64_t generation() const override { return watch_ ? 0 : client.generation(); }

  void cancel(const std::vector<SharedCall*>& calls) override {
    lock_waits().wake();
    if (!watch_) return client.cancel(calls);
    std::unordered_map<uint32_t, std::vector<SharedCall*>> of_clients;
    for (SharedCall* call : calls) of_clients[call->client_number].push_back(call);
    // The clients wait together first. Otherwise each would wait for a server that no longer replies.
    for (auto& [k, its] : of_clients) at(k).cancel_begin();
    wait_for([&] { return std::all_of(calls.begin(), calls.end(), [](const SharedCall* c) { return c->finished; }); },
             kCancelTime);
    for (auto& [k, its] : of_clients) {
      std::erase_if(its, [](const SharedCall* c) { return c->finished; });
      if (!its.empty()) at(k).cancel_end(its);
    }
  }

  void deal(SharedCall& call) override {
    if (!watch_) return;
    const Op& op = call.op();
    const uint64_t stream = call.request->stream;
    const uint64_t nth = stream ? dealt_.try_emplace(stream, dealt_.size()).first->second : turn_++;
    call.client_number = uint32_t(nth % number_of_clients());
    call.started = clock().now();
    const HandleId handle = op.kind == OpKind::copy_file_range && op.handle2 ? op.handle2 : op.handle;
    if (!handle) return;
    const auto it = openers_.try_emplace(handle, call.client_number).first;
    call.client_number = it->second;
    if (op.kind == OpKind::release || op.kind == OpKind::releasedir) openers_.erase(it);
    if (is_of_lock_owner(op)) call.client_number = homes_.begin(op.object, op.owner, call.client_number, holds_locks_of(op));
  }
  void ended(const SharedCall& call) override {
    if (!watch_) return;
    const Op& op = call.op();
    if (op.handle && is_of_lock_owner(op)) homes_.end(op.object, op.owner, holds_locks_of(op));
    if (op.kind == OpKind::release)
      homes_.closed(op.object, [&](uint64_t owner, uint32_t number) { return holds_locks(number, op.object, owner); });
    ClientFigures& figures = figures_[call.client_number];
    const Outcome& outcome = call.request->outcome;
    if (outcome.withheld) return;
    if (is_no_answer(outcome.error))
      ++figures.failed;
    else
      figures.times.add(outcome.completed - call.started), ended_.add(outcome.completed);
  }
  // Null: there is only one client.
  const EndedOverTime* ended_over_time() const { return watch_ ? &ended_ : nullptr; }
  unsigned most_calls() const override { return kMostCalls + (watch_ ? number_of_clients() : 0); }

 private:
  static constexpr unsigned kMostAttempts = 3;           // to connect a client whose connection breaks meanwhile
  static constexpr size_t kAtOnce = 256;                 // clients that connect or end together
  static constexpr int64_t kCancelTime = 1'000'000'000;  // ns

  static bool is_of_lock_owner(const Op& op) {
    return (op.kind == OpKind::setlk || op.kind == OpKind::getlk || op.kind == OpKind::flush) && op.owner && op.object;
  }
  auto holds_locks_of(const Op& op) {
    return [this, &op](uint32_t number) { return holds_locks(number, op.object, op.owner); };
  }

  // Advances until done() is true. False: nothing was done for `patience` ns, or the user ended the program.
  template <class Done>
  bool wait_for(Done done, int64_t patience) {
    const int64_t begun = clock().now(), until = begun + patience;
    for (;;) {
      const int64_t now = clock().now();
      advance(now);
      if (done()) return true;
      if (now >= until || clock().given_up(begun)) return false;
      const wire::Channel::Interest wanted = interest(clock().look_again(until));
      pollfd fds[] = {{wanted.socket, wanted.events, 0}};
      if (wanted.deadline > 0) wait_for_events(clock(), fds, wanted.deadline);
    }
  }

  // Calls begin(k) for each client from `first` on, and waits until busy(k) is false for all. kAtOnce are busy at most.
  template <class Begin, class Busy>
  bool each(uint32_t first, int64_t patience, Begin begin, Busy busy) {
    std::vector<uint32_t> under_way;
    for (uint32_t next = first; next < number_of_clients() || !under_way.empty();) {
      while (next < number_of_clients() && under_way.size() < kAtOnce) {
        begin(next);
        under_way.push_back(next++);
      }
      const auto some_ended = [&] { return std::erase_if(under_way, [&](uint32_t k) { return !busy(k); }) > 0; };
      if (!wait_for(some_ended, patience)) return false;
    }
    return true;
  }

  std::vector<std::unique_ptr<Client>> others_;
  std::optional<ClientWatch> watch_;  // none: there is only one client
  std::vector<ClientFigures> figures_;
  EndedOverTime ended_;
  uint64_t turn_ = 0;                               // of operations without a stream
  std::unordered_map<uint64_t, uint64_t> dealt_;    // numbers of streams, in the order of their first operations
  std::unordered_map<HandleId, uint32_t> openers_;  // clients of open instances
  LockHomes homes_;
};

}  // namespace fsr
