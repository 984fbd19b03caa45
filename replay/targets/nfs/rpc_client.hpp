// SPDX-License-Identifier: Apache-2.0
// Sends one RPC at a time and waits for the reply. For requests before and after a run. Used by one thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nfs/rpc.hpp"
#include "targets/rpc/gss_users.hpp"
#include "targets/wire/channel.hpp"

namespace fsr::nfs {

class RpcClient {
 public:
  // Connects. Throws std::runtime_error with one line: `what` and the reason. `what`: name of the server or program.
  // `transport`: what protects the connection; null: nothing. `security`: of the calls. None: AUTH_SYS.
  RpcClient(const std::string& what, std::vector<wire::Address> server, int64_t timeout, Clock& clock,
            std::shared_ptr<const wire::StreamSecurity> transport = {}, const std::optional<rpc::Security>& security = {});
  ~RpcClient();

  // Calls a procedure and decodes its results. Throws the same kind of error if there is no reply, if the server refuses the
  // call, or if `decode` returns false.
  void call(const Procedure& procedure, const Identity& who, const std::function<void(XdrEncoder&)>& encode,
            const std::function<bool(XdrDecoder&)>& decode);

 private:
  std::string what_;
  const wire::LocalPort local_;
  const std::optional<rpc::Security> security_;
  const int64_t timeout_;
  Clock& clock_;
  wire::ChannelCounters counters_;
  rpc::GssCounters gss_counters_;
  std::optional<rpc::GssUsers> gss_;  // made for the program of the first call
  wire::Channel channel_;
};

}  // namespace fsr::nfs
