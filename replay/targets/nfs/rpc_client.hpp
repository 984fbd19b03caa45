// SPDX-License-Identifier: Apache-2.0
// One RPC at a time, waiting for each: for what happens before and after a run. One thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nfs/rpc.hpp"
#include "targets/wire/channel.hpp"

namespace fsr::nfs {

class RpcClient {
 public:
  // Connects. Throws std::runtime_error, one line: `what` (whom it talks to) and why.
  RpcClient(const std::string& what, std::vector<wire::Address> server, int64_t timeout, Clock& clock);

  // Calls and decodes. Throws, in the same form, for no reply, a refusal, or results that `decode` does not accept.
  void call(const Procedure& procedure, const Identity& who, const std::function<void(XdrEncoder&)>& encode,
            const std::function<bool(XdrDecoder&)>& decode);

 private:
  std::string what_;
  const wire::LocalPort local_;
  Clock& clock_;
  wire::ChannelCounters counters_;
  wire::Channel channel_;
};

}  // namespace fsr::nfs
