// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs4/session.hpp"

#include <errno.h>

#include <algorithm>
#include <stdexcept>

#include "targets/client_limits.hpp"
#include "targets/nfs4/ops.hpp"
#include "util/clock_ns.hpp"

namespace fsr::nfs4 {

namespace {

constexpr unsigned kMostAttempts = 4;
constexpr int64_t kSetUpPatience = 10 * kSecond, kEndPatience = kSecond;  // ns without a client more
constexpr char kGaneshaLimit[] =
    "; NFS-Ganesha takes RPC_Max_Connections connections (NFS_CORE_PARAM; 1024 unless set, 10,000 at most), and as many as its "
    "limit of open "
    "files";

}  // namespace

Shared::Shared(const nfs::NfsOptions& o, uint32_t minor_version, const std::string& path, uint32_t clients)
    : ClientConnection(files, lock_waits_, o, minor_version, path), files(client.options) {
  if (clients == 1) return;
  allow_clients(uint64_t(clients) * o.connections);
  int error = 0;
  Nfs4Client* first = &client;
  const uint32_t connected = add_clients(
      clients, std::min(o.timeout, kSetUpPatience), [&] { return std::make_unique<Mount>(files, lock_waits_, first); }, &error);
  if (connected == clients) return;
  end_clients(kEndPatience);
  throw std::runtime_error(clients_problem(connected, clients, error) + kGaneshaLimit);
}

Shared::~Shared() { number_of_clients() == 1 ? client.shut_down() : end_clients(kEndPatience); }

void Nfs4Session::begin(SharedCall& shared_call) {
  OpCall& call = static_cast<OpCall&>(shared_call);
  const nfs::NfsOptions& o = shared_->client.options;
  call.shared = shared_.get();
  call.mount = &shared_->at(call.client_number);
  if (o.impersonate) {
    call.who.uid = call.request->who.uid;
    call.who.gid = call.request->who.gid;
  } else {
    call.who = o.self;
  }
  call.harmful = false;
  call.attempts = 0;
  call.made = {};
  call.verifier = 0;
  call.hid = false;
  run(call);
}

Detached Nfs4Session::run(OpCall& call) {
  Nfs4Client& client = *call.mount;
  int error;
  for (;;) {
    call.request->outcome = Outcome();
    error = co_await client.ready(call);
    if (error) break;
    const uint64_t epoch = client.epoch();
    error = co_await perform(call);
    if (error == kStateLost) client.suspect(epoch);
    if ((!connection_broke(error) && error != kStateLost) || call.harmful || call.cancelled || ++call.attempts >= kMostAttempts)
      break;
    ++client.counters.repeated;
  }
  if (connection_broke(error)) {
    ++client.counters.lost;
    error = ECONNRESET;
  }
  finish(call, error == kStateLost ? EIO : error);
}

}  // namespace fsr::nfs4
