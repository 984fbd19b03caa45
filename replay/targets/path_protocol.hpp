// SPDX-License-Identifier: Apache-2.0
// Common parts of protocols that address files by paths on a connection that may break. An operation that is interrupted by the
// break begins again, unless the server may have done something that it must not do twice. Then the names on the server may tell
// (lost_reply.hpp). An operation also begins again if it did not find a name because a rename moved it meanwhile.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/lost_locks.hpp"
#include "targets/client_connection.hpp"
#include "targets/client_limits.hpp"
#include "targets/lost_reply.hpp"
#include "util/clock_ns.hpp"

namespace fsr {

// Counters that all path protocols have. Protocols derive their own type from it.
struct PathCounters {
  wire::ChannelCounters wire;
  std::atomic<uint64_t> repeated{0};            // operations begun again after their connection broke
  std::atomic<uint64_t> lost{0};                // operations that failed because their connection broke
  std::atomic<uint64_t> done_without_reply{0};  // operations that were done, although their reply was lost
  std::atomic<uint64_t> moved{0};               // operations begun again because a name on their path was moved meanwhile
  std::atomic<uint64_t> reopened{0};            // open files opened again after a reconnect
  std::atomic<uint64_t> lost_locks{0};          // files whose locks ended with a connection or session
  std::atomic<uint64_t> stuck_listings{0};      // listings that failed because they made no progress
  std::atomic<uint64_t> hidden{0};              // removals while open, done as a rename
  std::atomic<uint64_t> hidden_left{0};         // hidden names that could not be removed
  std::atomic<uint64_t> unknown{0};             // operations on an object whose id no earlier operation bound

  // Returns the counters with their names, for Target::counters().
  std::vector<std::pair<std::string, uint64_t>> named() const {
    return {{"reconnects", wire.reconnects},
            {"operations begun again after a reconnect", repeated},
            {"operations lost with a connection", lost},
            {kDoneWithoutReply, done_without_reply},
            {"operations begun again after a rename", moved},
            {"open files opened again", reopened},
            {kFilesWithoutLocks, lost_locks},
            {"requests lost with a connection", wire.broken},
            {"requests without an answer", wire.timeouts},
            {"requests with no server to go to", wire.unreachable},
            {"malformed replies", wire.malformed},
            {"unexpected replies", wire.unexpected},
            {"listings that made no progress", stuck_listings},
            {"open files removed by renaming", hidden},
            {"hidden names left behind", hidden_left},
            {"operations on unknown objects", unknown}};
  }
};

// The connection that the sessions of a target share. `Tree` derives from KnownTree. All clients use it, because the names and
// types of objects do not depend on the client.
template <class Client, class Tree>
struct PathConnection final : ClientConnection<Client> {
  // Makes the clients of `settings`. Throws std::runtime_error, one line.
  explicit PathConnection(const auto& settings) : ClientConnection<Client>(settings), tree(this->client) {
    constexpr int64_t kPatience = 10 * kSecond;  // ns without a further client
    const uint32_t clients = settings.clients.clients;
    if (!settings.clients.is_one_of_many()) return;
    allow_clients(clients);
    tree.expect_clients(clients);
    int error = 0;
    Client* first = &this->client;
    const uint32_t connected = this->add_clients(
        clients, std::min(settings.timeout, kPatience), [&](uint32_t k) { return std::make_unique<Client>(first, k); }, &error);
    if (connected == clients) return;
    this->end_clients(kSecond);
    throw std::runtime_error(clients_problem(connected, clients, error));
  }
  ~PathConnection() override {
    if (this->number_of_clients() > 1) this->end_clients(kSecond);
  }
  Tree tree;  // refers to `client`

  Clock& clock() const override { return *this->client.settings.clock; }
  RetryWaits& lock_waits() override { return tree.lock_waits; }
  bool holds_locks(uint32_t number, ObjectId object, uint64_t owner) override {
    const auto* known = tree.object(object);
    const auto& locks = known ? known->locks_of(this->at(number)) : nullptr;
    return locks && locks->table.holds(owner);
  }
};

struct RepeatableCall : SharedCall {
  bool harmful = false;     // a request that must not be made twice may have been performed
  bool sent_twice = false;  // it began again nevertheless
  bool made = false;        // the object has been created: an operation that begins again skips this step
};

// Performs an operation by `perform(call)`, and repeats it as the head of this file says. Returns an errno. Static, because clang
// 14's -fsanitize=function requires coroutine templates to be local.
template <class OpCall, class Client, class Tree, class Perform>
static Task repeat_call(OpCall& call, PathConnection<Client, Tree>& shared, Perform perform) {
  constexpr unsigned kMostAttempts = 4;
  int error;
  for (unsigned attempts = 1;; ++attempts) {
    call.request->outcome = Outcome();
    error = co_await call.client().ready(call);
    if (error) break;
    const uint64_t moves = shared.tree.moves();
    error = co_await perform(call);
    if constexpr (requires(Sighting * seen) { see(call, ObjectId(), std::string_view(), seen); })
      if (is_in_doubt(call, error)) {
        bool again = false;
        error = co_await settle(call, error, &shared.client.counters.done_without_reply, &again);
        if (again && attempts < kMostAttempts) {
          ++shared.client.counters.repeated;
          continue;
        }
      }
    if (!error || call.cancelled || attempts >= kMostAttempts) break;
    if (connection_broke(error) && !call.harmful) {
      ++shared.client.counters.repeated;
    } else if ((error == ENOENT || error == ESTALE || error == ENOTDIR) && shared.tree.moved_since(moves, call.op())) {
      ++shared.client.counters.moved;
    } else {
      break;
    }
  }
  if (connection_broke(error)) {
    ++shared.client.counters.lost;
    error = ECONNRESET;
  }
  co_return error;
}

}  // namespace fsr
