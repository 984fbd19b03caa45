// SPDX-License-Identifier: Apache-2.0
#include "targets/ninep/session.hpp"

#include "targets/ninep/ops.hpp"

namespace fsr::ninep {

void NinepSession::begin(SharedCall& shared_call) {
  OpCall& call = static_cast<OpCall&>(shared_call);
  const Settings& s = shared_->client.settings;
  call.shared = shared_.get();
  call.performer = &shared_->at(call.client_number);
  call.uid = s.impersonate ? call.request->who.uid : s.uid;
  call.gid = s.impersonate ? call.request->who.gid : s.gid;
  call.harmful = call.sent_twice = call.made = false;
  call.until = 0;
  run(call);
}

Detached NinepSession::run(OpCall& call) {
  const int error = co_await repeat_call(call, *shared_, perform);
  finish(call, error);
}

}  // namespace fsr::ninep
