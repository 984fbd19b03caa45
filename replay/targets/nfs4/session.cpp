// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs4/session.hpp"

#include <errno.h>

#include <algorithm>
#include <stdexcept>

#include "targets/client_limits.hpp"
#include "targets/lost_reply.hpp"
#include "targets/nfs/nfs_setup.hpp"
#include "targets/nfs4/ops.hpp"
#include "util/clock_ns.hpp"

namespace fsr::nfs4 {

namespace {

constexpr unsigned kMostAttempts = 4;
constexpr int64_t kSetUpPatience = 10 * kSecond, kEndPatience = kSecond;  // ns without a client more

}  // namespace

Shared::Shared(const nfs::NfsOptions& o, uint32_t minor_version, const std::string& path, uint32_t churn)
    : ClientConnection(files, lock_waits_, o, minor_version, path), files(client.options), churn_(churn), next_churn_(INT64_MAX) {
  const uint32_t clients = o.clients.clients;
  if (!o.clients.is_one_of_many()) return;
  allow_clients(uint64_t(clients) * o.connections);
  int error = 0;
  Nfs4Client* first = &client;
  const uint32_t connected = add_clients(
      clients, std::min(o.timeout, kSetUpPatience),
      [&](uint32_t k) { return std::make_unique<Mount>(files, lock_waits_, first, k); }, &error);
  if (connected == clients) {
    next_churn_ = clock().now();
    return;
  }
  end_clients(kEndPatience);
  throw std::runtime_error(clients_problem(connected, clients, error) + nfs::kGaneshaLimits);
}

Shared::~Shared() {
  next_churn_ = INT64_MAX;
  number_of_clients() == 1 ? client.shut_down() : end_clients(kEndPatience);
}

// Asks the next client that can to unmount.
void Shared::advance(int64_t now) {
  if (churn_ && now >= next_churn_) {
    const int64_t period = kSecond * client.options.clients.ranks / churn_;
    next_churn_ = next_churn_ + kSecond < now ? now + period : next_churn_ + period;
    uint32_t asked = 0;
    while (asked < number_of_clients() && !at(turn_ = (turn_ + 1) % number_of_clients()).leave()) ++asked;
    client.counters.stayed += asked == number_of_clients();
  }
  ClientConnection::advance(now);
}

void Nfs4Session::begin(SharedCall& shared_call) {
  OpCall& call = static_cast<OpCall&>(shared_call);
  const nfs::NfsOptions& o = shared_->client.options;
  call.shared = shared_.get();
  call.mount = &shared_->at(call.client_number);
  call.who = o.user_of(call.request->who);
  call.harmful = call.sent_twice = false;
  call.attempts = 0;
  call.made = {};
  call.verifier = 0;
  call.hid = false;
  call.append_at.reset();
  run(call);
}

Detached Nfs4Session::run(OpCall& call) {
  Nfs4Client& client = *call.mount;
  const nfs::NfsOptions& o = shared_->client.options;
  if (const int error = o.withhold(*call.request)) {
    finish(call, error);
    co_return;
  }
  int error;
  for (;;) {
    call.request->outcome = Outcome();
    error = co_await client.ready(call);
    if (error) break;
    const uint64_t epoch = client.epoch();
    error = co_await perform(call);
    if (error == kStateLost) client.suspect(epoch);
    if (is_in_doubt(call, error)) {
      bool again = false;
      error = co_await settle(call, error, &client.counters.done_without_reply, &again);
      if (!again || ++call.attempts >= kMostAttempts) break;
      ++client.counters.repeated;
      continue;
    }
    if ((!connection_broke(error) && error != kStateLost) || call.harmful || call.cancelled || ++call.attempts >= kMostAttempts)
      break;
    ++client.counters.repeated;
  }
  nfs::end_append(call);  // of one that begins again no more
  if (connection_broke(error)) {
    ++client.counters.lost;
    error = ECONNRESET;
  }
  finish(call, error == kStateLost ? EIO : error);
}

}  // namespace fsr::nfs4
