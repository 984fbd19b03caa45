// SPDX-License-Identifier: Apache-2.0
#include "targets/afp/session.hpp"

#include "targets/afp/ops.hpp"

namespace fsr::afp {

Rpc& OpCall::ask_at(Command command, uint32_t did, bool harmless) {
  Rpc& rpc = ask(command, harmless);
  rpc.out().u8(0).u16(client().volume()).u32(did);
  return rpc;
}

void AfpSession::begin(SharedCall& shared_call) {
  OpCall& call = static_cast<OpCall&>(shared_call);
  call.harmful = call.sent_twice = call.made = false;
  call.until = 0;
  call.performer = &shared_->at(call.client_number);
  run(call);
}

Detached AfpSession::run(OpCall& call) {
  const int error = co_await repeat_call(call, *shared_, perform);
  finish(call, error);
}

}  // namespace fsr::afp
