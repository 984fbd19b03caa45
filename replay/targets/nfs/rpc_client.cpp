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
constexpr unsigned kDepth = 3;  // the call, and those that make and end a security context

struct Waiting final : wire::Exchange {
  const std::function<bool(XdrDecoder&)>* decode = nullptr;
  rpc::GssClient* gss = nullptr;  // null: AUTH_SYS
  wire::Channel* channel = nullptr;
  rpc::SealedCall sealed;
  bool done = false;
  std::string problem;
  wire::LocalPort local = wire::LocalPort::any;

  void replied(std::span<const uint8_t> message) override {
    using Opened = rpc::GssClient::Opened;
    const Opened opened = gss ? gss->open(*channel, *this, sealed, &message) : Opened::plain;
    if (opened == Opened::sent_again) return;
    done = true;
    if (opened == Opened::forged) {
      problem = "the reply is forged";
      return;
    }
    XdrDecoder in(message);
    RpcStatus status = decode_reply_head(in);
    if (status != RpcStatus::success)
      problem = gss && !gss->problem().empty()
                    ? gss->problem()
                    : rpc_message(status) + (status == RpcStatus::authentication ? port_advice(local) : "");
    else if (!(*decode)(in))
      problem = "malformed reply";
  }
  void failed(int error) override {
    done = true;
    problem = gss && !gss->problem().empty() ? gss->problem()
              : error == ETIMEDOUT           ? "no reply"
              : error == ECONNRESET          ? "server closed the connection: not an RPC service?"
                                             : strerror(error);
  }
};

wire::ChannelOptions channel_options(int64_t timeout, std::shared_ptr<const wire::StreamSecurity> transport) {
  wire::ChannelOptions options;
  options.security = std::move(transport);
  options.max_message = kLongestReply;
  options.depth = kDepth;
  options.request_timeout = options.connect_timeout = timeout;
  options.one_attempt = true;
  return options;
}

}  // namespace

RpcClient::RpcClient(const std::string& what, std::vector<wire::Address> server, int64_t timeout, Clock& clock,
                     std::shared_ptr<const wire::StreamSecurity> transport, const std::optional<rpc::Security>& security) try
    : what_(what),
      local_(server.at(0).local),
      security_(security),
      timeout_(timeout),
      clock_(clock),
      channel_(std::move(server), kRpcProtocol, channel_options(timeout, std::move(transport)), clock, counters_) {
} catch (const std::runtime_error& e) {
  throw std::runtime_error(what + ": " + e.what());
}

RpcClient::~RpcClient() {
  if (!gss_) return;
  gss_->end(channel_);
  channel_.poll(INT64_MIN, -1);
}

void RpcClient::call(const Procedure& procedure, const Identity& who, const std::function<void(XdrEncoder&)>& encode,
                     const std::function<bool(XdrDecoder&)>& decode) {
  Waiting x;
  x.decode = &decode;
  x.local = local_;
  begin_call(x.head, 0, procedure, who);
  XdrEncoder out(x.head);
  encode(out);
  end_call(x.head, 0);
  if (security_ && !gss_)
    gss_.emplace(*security_, Procedure{procedure.program, procedure.version, 0}, timeout_, clock_, gss_counters_);
  if (gss_) {
    x.gss = &gss_->of(who.principal);
    x.channel = &channel_;
    x.gss->send(channel_, x, x.sealed);
  } else {
    channel_.open(x);
    change_xid(x.head, x.tag());
    channel_.send(x);
  }
  const int64_t begun = clock_.now();
  while (!x.done && !clock_.given_up(begun)) channel_.poll(clock_.look_again(INT64_MAX), -1);
  if (!x.done) {
    if (x.gss) x.gss->withdraw(x);
    channel_.reset();
    x.problem = "interrupted";
  }
  if (!x.problem.empty()) throw std::runtime_error(what_ + ": " + x.problem);
}

}  // namespace fsr::nfs
