// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/nfs3_clients.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "targets/client_limits.hpp"
#include "targets/nfs/nfs3_ops.hpp"
#include "targets/nfs/nfs_setup.hpp"
#include "util/clock_ns.hpp"

namespace fsr::nfs {

namespace {

constexpr int64_t kSetUpPatience = 10 * kSecond, kEndPatience = kSecond;  // ns without a client more
constexpr uint64_t kDescriptorsForLocks = 2;  // of a client: a connection to the lock manager, and one descriptor for all

}  // namespace

Nfs3Clients::Nfs3Clients(std::shared_ptr<NfsState> s) : ClientConnection(*s, lock_waits_, 0u), state(std::move(s)) {
  const NfsOptions& o = state->options;
  allow_clients(uint64_t(o.clients.clients) * (o.connections + kDescriptorsForLocks));
  int error = 0;
  const uint32_t connected = add_clients(
      o.clients.clients, std::min(o.timeout, kSetUpPatience),
      [&](uint32_t k) { return std::make_unique<Nfs3Client>(*state, lock_waits_, k); }, &error);
  if (connected == o.clients.clients) return;
  end_clients(kEndPatience);
  throw std::runtime_error(clients_problem(connected, o.clients.clients, error) + kGaneshaLimits);
}

Nfs3Clients::~Nfs3Clients() { end_clients(kEndPatience); }

void Nfs3ClientsSession::begin(SharedCall& shared_call) {
  OpCall& call = static_cast<OpCall&>(shared_call);
  call.begin(clients_->at(call.client_number));
  run(call);
}

Detached Nfs3ClientsSession::run(OpCall& call) {
  const NfsOptions& o = clients_->state->options;
  int error = o.withhold(*call.request);
  if (!error) error = co_await perform(call);
  if (call.harmful) error = co_await after_lost_reply(call, error);
  std::string_view& data = call.request->outcome.data;
  if (!data.empty() && data.data() != call.buffer.data()) {  // of a reply, which is gone when the outcome is handed over
    call.buffer = data;
    data = call.buffer;
  }
  finish(call, error);
}

}  // namespace fsr::nfs
