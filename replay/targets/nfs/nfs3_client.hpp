// SPDX-License-Identifier: Apache-2.0
// Makes the requests of one session to an NFSv3 server and to its lock manager. It has one or several connections to the server
// (nconnect), and one to the lock manager from the first lock on. Repeats requests that the server asks to send later. Requests
// locks again if their connection broke, because the server may have restarted and forgotten them. Used by one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/task.hpp"
#include "targets/nfs/nfs_state.hpp"
#include "targets/nfs/nlm4.hpp"
#include "targets/retry_waits.hpp"
#include "targets/rpc_list.hpp"
#include "targets/wire/channel_set.hpp"

namespace fsr::nfs {

class Nfs3Client;
struct OpCall;

// Results of a request, or its error. A reply from the lock manager has no results.
struct ClientReply : Reply {
  int error = 0;  // errno; the server's, or that of the connection
};

struct Rpc final : RpcBase<Nfs3Client, OpCall, Rpc> {
  wire::Channel* channel = nullptr;
  Proc proc = Proc::null;
  rpc::SealedCall sealed;                                  // used with Kerberos
  LockProc lock = LockProc::none;                          // none: an NFS request; otherwise a request to the lock manager
  bool reclaim = false;                                    // a lock is requested again after a restart
  int64_t retry_until = 0, retry_at = 0, retry_delay = 0;  // ns; used if the server asks to retry later

  void replied(std::span<const uint8_t> message) override;
  void failed(int error) override;
  void sent_again() override;
};

class Nfs3Client {
 public:
  // Connects; throws std::runtime_error, one line. `calls`: operations in flight, at most.
  Nfs3Client(NfsState& state, unsigned calls);
  ~Nfs3Client();  // ends the requests in flight with ECANCELED
  Nfs3Client(const Nfs3Client&) = delete;
  Nfs3Client& operator=(const Nfs3Client&) = delete;

  NfsState& files;
  const NfsOptions& options;
  RetryWaits lock_waits;  // of this session

  // Return a new request. The caller encodes its arguments to rpc.head, and sends it at once.
  Rpc& request(Proc proc, const Identity& who);
  Rpc& lock_request(LockProc proc, const LockArguments& lock, const Identity& who);  // with its arguments
  using ReplyAwaiter = fsr::ReplyAwaiter<Nfs3Client, Rpc>;
  void begin(Rpc& rpc);
  const ClientReply& reply() const { return reply_; }
  ReplyAwaiter send(Rpc& rpc, std::string_view payload = {}) {
    rpc.payload = payload;
    rpc.padding = uint8_t(XdrEncoder::padding(payload.size()));
    return {*this, rpc};
  }

  wire::Channel::Woken poll(int64_t deadline, int wake);  // as Channel::poll()
  void prefer_throughput() { channels_->prefer_throughput(); }

 private:
  friend struct Rpc;
  Rpc& take(const Procedure& procedure, const Identity& who);
  void transmit(Rpc& rpc);
  void answered(Rpc& rpc, std::span<const uint8_t> message);
  void lock_answered(Rpc& rpc, std::span<const uint8_t> message);
  void end(Rpc& rpc, int error);
  bool delay(Rpc& rpc);
  void send_delayed();
  void watch_locks();
  Detached reclaim_locks();
  Task lock_again(HeldLocks::Held held);

  const unsigned depth_;  // requests in flight on a connection, at most
  ClientReply reply_;
  RpcList<Rpc> rpcs_;
  std::vector<Rpc*> delayed_;
  std::deque<HeldLocks::Held> again_;  // locks to request again
  unsigned reclaiming_ = 0;            // coroutines that do so
  bool locks_up_ = false;              // lock_channel_ was connected at the last poll()
  // Seals requests to the NFS program; none: AUTH_SYS. Requests to the lock manager stay AUTH_SYS, as those of Linux's client do.
  std::optional<rpc::GssClient> gss_;
  wire::Channel* lock_channel_ = nullptr;     // one of channels_; null: no lock was requested yet
  std::optional<wire::ChannelSet> channels_;  // none: the session ends
};

}  // namespace fsr::nfs
