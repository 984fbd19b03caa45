// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/rpc_client.hpp"

#include <errno.h>

#include <cstring>
#include <stdexcept>

#include "base/clock.hpp"
#include "targets/nfs/nfs_setup.hpp"
#include "targets/nfs/rpc_protocol.hpp"

namespace fsr::nfs {

namespace {

constexpr size_t kLongestReply = 1 << 20;

struct Waiting final : wire::Exchange {
  const std::function<bool(XdrDecoder&)>* decode = nullptr;
  bool done = false;
  std::string problem;
  wire::LocalPort local = wire::LocalPort::any;

  void replied(std::span<const uint8_t> message) override {
    done = true;
    XdrDecoder in(message);
    RpcStatus status = decode_reply_head(in);
    if (status != RpcStatus::success)
      problem = rpc_message(status) + (status == RpcStatus::authentication ? port_advice(local) : "");
    else if (!(*decode)(in))
      problem = "malformed reply";
  }
  void failed(int error) override {
    done = true;
    problem = error == ETIMEDOUT    ? "no reply"
              : error == ECONNRESET ? "server closed the connection: not an RPC service?"
                                    : strerror(error);
  }
};

wire::ChannelOptions channel_options(int64_t timeout) {
  wire::ChannelOptions options;
  options.max_message = kLongestReply;
  options.depth = 1;
  options.request_timeout = options.connect_timeout = timeout;
  options.one_attempt = true;
  return options;
}

}  // namespace

RpcClient::RpcClient(const std::string& what, std::vector<wire::Address> server, int64_t timeout, Clock& clock) try
    : what_(what),
      local_(server.at(0).local),
      clock_(clock),
      channel_(std::move(server), kRpcProtocol, channel_options(timeout), clock, counters_) {
} catch (const std::runtime_error& e) {
  throw std::runtime_error(what + ": " + e.what());
}

void RpcClient::call(const Procedure& procedure, const Identity& who, const std::function<void(XdrEncoder&)>& encode,
                     const std::function<bool(XdrDecoder&)>& decode) {
  Waiting x;
  x.decode = &decode;
  x.local = local_;
  channel_.open(x);
  begin_call(x.head, x.tag(), procedure, who);
  XdrEncoder out(x.head);
  encode(out);
  end_call(x.head, 0);
  channel_.send(x);
  const int64_t begun = clock_.now();
  while (!x.done && !clock_.given_up(begun)) channel_.poll(clock_.look_again(INT64_MAX), -1);
  if (!x.done) {
    channel_.reset();
    x.problem = "interrupted";
  }
  if (!x.problem.empty()) throw std::runtime_error(what_ + ": " + x.problem);
}

}  // namespace fsr::nfs
