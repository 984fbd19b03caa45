// SPDX-License-Identifier: Apache-2.0
// Makes the requests of one session, or of one of several clients, to an NFSv3 server and to its lock manager. It has one or
// several connections to the server (nconnect), and one to the lock manager from the first lock on. Repeats requests that the
// server asks to send later. Requests locks again if their connection broke, because the server may have restarted and forgotten
// them. Used by one thread, or protected by the mutex of a shared connection.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/client_figures.hpp"
#include "base/task.hpp"
#include "targets/client_watch.hpp"
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
  rpc::GssClient* gss = nullptr;                           // protects the call; null: AUTH_SYS
  rpc::SealedCall sealed;                                  // used with `gss`
  LockProc lock = LockProc::none;                          // none: an NFS request; otherwise a request to the lock manager
  bool reclaim = false;                                    // a lock is requested again after a restart
  int64_t retry_until = 0, retry_at = 0, retry_delay = 0;  // ns; used if the server asks to retry later

  void replied(std::span<const uint8_t> message) override;
  void failed(int error) override;
  void sent_again() override;
};

class Nfs3Client : public WatchedClient {
 public:
  // Connects; throws std::runtime_error, one line. `calls`: operations in flight, at most.
  Nfs3Client(NfsState& state, unsigned calls);
  // Makes the client `k` of several. It has a machine name and lock owners of its own. The first connects and throws, the others
  // connect when connect() is called. `waits`: of the calls of all clients.
  Nfs3Client(NfsState& state, RetryWaits& waits, uint32_t k);
  ~Nfs3Client();  // ends the requests in flight with ECANCELED
  Nfs3Client(const Nfs3Client&) = delete;
  Nfs3Client& operator=(const Nfs3Client&) = delete;

  NfsState& files;
  const NfsOptions& options;

 private:
  RetryWaits own_lock_waits_;

 public:
  RetryWaits& lock_waits;         // of this session, or of all clients
  const std::string lock_caller;  // name of this client for the lock manager

  // Return a new request. The caller encodes its arguments to rpc.head, and sends it at once.
  Rpc& request(Proc proc, const Identity& who);
  Rpc& lock_request(LockProc proc, const LockArguments& lock, const Identity& who, OpCall* call = nullptr);  // with its arguments
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

  // For ClientConnection, which describes them:
  void advance(int64_t now);
  wire::Channel::Interest interest(int64_t deadline) const;
  uint64_t generation() const { return channels_ ? channels_->generation() : 0; }
  uint64_t sockets() const { return channels_ ? channels_->sockets() : 0; }
  void cancel(const std::vector<SharedCall*>&) {}          // of a single client, which has no shared session
  void cancel_begin();                                     // ends the cancelled calls that have no request in flight
  void cancel_end(const std::vector<SharedCall*>& calls);  // ends them all
  void connect();
  bool connecting() const { return connecting_; }
  int connect_error() const { return connect_error_; }
  void begin_end();
  bool ending() const { return ending_ && !ended_; }
  void end_everything();
  void add_figures(ClientFigures* figures) const;

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
  void protect();       // makes gss_, if requests are to be sealed
  void make_context();  // the first of gss_, on the first connection; throws std::runtime_error, one line
  Detached reclaim_locks();
  Task lock_again(HeldLocks::Held held);
  bool is_lost() const { return watch && is_set_up_ && !connecting_ && !ending_ && channels_ && !channels_->up(); }
  template <class Which>
  void end_all(Which which);
  Detached ping();
  Detached give_up_locks();

  const std::string machine_;  // host's name in the credentials; "": this program's
  const unsigned depth_;       // requests in flight on a connection, at most
  bool connecting_ = false, is_set_up_ = false, ending_ = false, ended_ = false;
  int connect_error_ = 0;
  int64_t return_at_ = 0;  // time of the next attempt to replace a lost connection without an operation
  ClientReply reply_;
  RpcList<Rpc> rpcs_;
  std::vector<Rpc*> delayed_;
  std::deque<HeldLocks::Held> again_;  // locks to request again
  unsigned reclaiming_ = 0;            // coroutines that do so
  bool locks_up_ = false;              // lock_channel_ was connected at the last poll()
  // Seals requests to the NFS program; none: AUTH_SYS. Requests to the lock manager stay AUTH_SYS, as those of Linux's client do.
  std::optional<rpc::GssUsers> gss_;
  wire::Channel* lock_channel_ = nullptr;     // one of channels_; null: no lock was requested yet
  std::optional<wire::ChannelSet> channels_;  // none: the session ends
};

}  // namespace fsr::nfs
