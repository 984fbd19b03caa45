// SPDX-License-Identifier: Apache-2.0
#include "targets/ninep/session.hpp"

#include <errno.h>

#include "targets/ninep/ops.hpp"

namespace fsr::ninep {

namespace {

constexpr unsigned kMostAttempts = 4;

bool broke(int error) { return error == ECONNRESET || error == ENOTCONN; }
bool not_there(int error) { return error == ENOENT || error == ESTALE || error == ENOTDIR; }

}  // namespace

void NinepSession::begin(SharedCall& shared_call) {
  Call& call = static_cast<Call&>(shared_call);
  const Settings& s = shared_->client.settings;
  call.shared = shared_.get();
  call.uid = s.impersonate ? call.request->who.uid : s.uid;
  call.gid = s.impersonate ? call.request->who.gid : s.gid;
  call.harmful = false;
  call.attempts = 0;
  run(call);
}

Detached NinepSession::run(Call& call) {
  Client& client = shared_->client;
  int error;
  for (;;) {
    call.request->outcome = Outcome();
    error = co_await client.ready(call);
    if (error) break;
    call.moves = shared_->tree.moves;
    error = co_await perform(call);
    if (!error || call.cancelled || ++call.attempts >= kMostAttempts) break;
    if (broke(error) && !call.harmful) {
      ++client.counters.repeated;
    } else if (not_there(error) && shared_->tree.moved_since(call.moves)) {
      ++client.counters.moved;
    } else {
      break;
    }
  }
  if (broke(error)) {
    ++client.counters.lost;
    error = ECONNRESET;
  }
  finish(call, error);
}

}  // namespace fsr::ninep
