// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs4/session.hpp"

#include <errno.h>

#include "targets/nfs4/ops.hpp"

namespace fsr::nfs4 {

constexpr unsigned kMostAttempts = 4;

Shared::Shared(const nfs::NfsOptions& o, uint32_t minor_version, const std::string& path)
    : ClientConnection(o, minor_version, path), files(client.options), states(client, files) {
  client.recovery = &states;
}

void Nfs4Session::begin(SharedCall& shared_call) {
  OpCall& call = static_cast<OpCall&>(shared_call);
  const nfs::NfsOptions& o = shared_->client.options;
  call.shared = shared_.get();
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
  Nfs4Client& client = shared_->client;
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
