// SPDX-License-Identifier: Apache-2.0
// An NFSv4.1 client: its client id, its session with slots, requests and replies, and its lease. Restores these when the server
// has forgotten them.
//
// All sessions of a target share one client and one NFS session, because open files and locks belong to the client
// (shared_session.hpp). The NFS session has one or several connections (nconnect). Each request except those that make the
// session begins with SEQUENCE in a slot. If a request must not be performed twice, the server is asked to keep its reply there.
// After a break, a request is sent again with the same sequence number and counted, and the server performs it once. If the
// server forgot the session by a restart, it is not known whether such a request was performed. The names on the server may tell
// (lost_reply.hpp); otherwise its operation fails and is counted as lost. All other operations begin again.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/client_figures.hpp"
#include "base/task.hpp"
#include "targets/call_wait_list.hpp"
#include "targets/client_watch.hpp"
#include "targets/nfs/nfs_state.hpp"
#include "targets/nfs4/compound.hpp"
#include "targets/rpc_list.hpp"
#include "targets/shared_session.hpp"
#include "targets/wire/channel_set.hpp"

namespace fsr::nfs4 {

class Nfs4Client;
struct OpCall;

struct Counters {
  wire::ChannelCounters wire;
  rpc::GssCounters gss;
  std::atomic<uint64_t> delayed{0};             // requests repeated after NFS4ERR_DELAY
  std::atomic<uint64_t> grace{0};               // requests repeated after NFS4ERR_GRACE
  std::atomic<uint64_t> repeated{0};            // operations begun again after the server forgot session or state
  std::atomic<uint64_t> lost{0};                // operations that the server may or may not have performed
  std::atomic<uint64_t> done_without_reply{0};  // operations that it has performed, although their reply was lost
  std::atomic<uint64_t> sessions{0};            // sessions made after the first
  std::atomic<uint64_t> reclaimed{0};           // open files and locks that were reclaimed from a restarted server
  std::atomic<uint64_t> reopened{0};            // open files that could not be reclaimed, and were opened anew
  std::atomic<uint64_t> relocked{0};            // locks that could not be reclaimed, and were granted anew
  std::atomic<uint64_t> lost_opens{0};          // open files that could not be restored
  std::atomic<uint64_t> lost_locks{0};          // locks that could not be restored
  std::atomic<uint64_t> broken_opens{0};        // OPENs that failed with EIO, as if the server had no descriptor for them
  std::atomic<uint64_t> delegations{0};         // delegations that the server gave without a request, and that were returned
  std::atomic<uint64_t> mounted{0};             // clients that unmounted and mounted anew
  std::atomic<uint64_t> stayed{0};              // times that no client could unmount, because all had open files
  std::atomic<uint64_t> renewals{0};            // renewals of the lease while idle
  std::array<std::atomic<uint64_t>, kOpNums> requests{};  // COMPOUNDs by their subject; a repeated one is counted once
};

struct Rpc final : RpcBase<Nfs4Client, OpCall, Rpc> {
  Compound compound;
  rpc::GssClient* gss = nullptr;       // protects the call; null: AUTH_SYS
  rpc::SealedCall sealed;              // used with `gss`
  wire::Channel* bound_for = nullptr;  // channel to use; null: any
  wire::Channel* channel = nullptr;    // channel that it was sent on
  bool guarded = false;                // a second OPEN or SETXATTR fails if the first was performed
  size_t effect = 0;                   // index of the first operation that must not be performed twice; beyond the last: none
  uint32_t slot = kNoSlot;
  uint64_t epoch = 0;
  uint64_t session = 0;     // number of the session that the slot belongs to
  bool waits = false;       // it waits for a slot
  int64_t waits_until = 0;  // time until which it does
  unsigned repeats = 0;     // repetitions because the server did not keep its reply
  int64_t retry_until = 0, retry_at = 0, retry_delay = 0;

  static constexpr uint32_t kNoSlot = UINT32_MAX;
  bool harmless() const { return effect >= compound.ops().size(); }
  void replied(std::span<const uint8_t> message) override;
  void failed(int error) override;
  void sent_again() override;
};

// Restores the state that the server forgot.
class Recovery {
 public:
  virtual void forgotten() = 0;  // marks all state as forgotten
  // Reclaims the state from a server that restarted. The server must be sent RECLAIM_COMPLETE before other requests.
  virtual Task reclaim() = 0;
  // Opens files and requests locks anew that are still forgotten.
  virtual Task regain() = 0;
  virtual Task close_all() = 0;
  virtual bool has_opens() const = 0;

 protected:
  ~Recovery() = default;
};

class Nfs4Client : public WatchedClient {
 public:
  // Connects, makes client id and session, finds the export `path`, and sets root and limits in `options`. Throws
  // std::runtime_error, one line.
  Nfs4Client(const nfs::NfsOptions& o, uint32_t minor_version, const std::string& path);
  // Makes a further client of the server of `first`, which lends it the counters and what it learnt of the export. connect()
  // connects it.
  Nfs4Client(Nfs4Client* first, uint32_t k);
  ~Nfs4Client();
  Nfs4Client(const Nfs4Client&) = delete;
  Nfs4Client& operator=(const Nfs4Client&) = delete;

  nfs::NfsOptions options;
  const uint32_t minor_version;

 private:
  std::unique_ptr<Counters> own_counters_;

 public:
  Counters& counters;
  Recovery* recovery = nullptr;

  // Statuses of the first use of optional operations, on the export's root. kOk: the server supports the operation.
  struct ServerFeatures {
    uint32_t allocate = kNotSupported, seek = kNotSupported, copy = kNotSupported, xattrs = kNotSupported;
    uint32_t clone = kNotSupported, read_plus = kNotSupported;
  };
  const ServerFeatures& offers() const { return offers_; }
  std::pair<uint64_t, uint64_t> space() const {
    return {total_bytes_, available_bytes_};
  }  // total and available bytes at the set-up

  // Returns a new request, which begins with SEQUENCE. The caller fills it in and sends it at once.
  Rpc& request(OpCall* call, const Identity& who);
  using ReplyAwaiter = fsr::ReplyAwaiter<Nfs4Client, Rpc>;
  void begin(Rpc& rpc);
  const Reply& reply() const { return reply_; }
  ReplyAwaiter send(Rpc& rpc, std::string_view payload = {}) {
    rpc.payload = payload;
    rpc.padding = uint8_t(XdrEncoder::padding(payload.size()));
    return {*this, rpc};
  }

  uint64_t fresh_verifier() { return verifier_ ^ ++verifiers_; }  // verifier of a new exclusive create

  // Waits for a session. Returns an errno if none can be made.
  Task ready(OpCall& call);
  uint64_t epoch() const { return epoch_; }  // changes whenever the server's state was restored
  // Called if the server no longer knew an open file or lock of this epoch.
  void suspect(uint64_t epoch);

  void advance(int64_t now);
  wire::Channel::Interest interest(int64_t deadline) const;
  uint64_t generation() const { return channels_.generation(); }
  uint64_t sockets() const { return channels_.sockets(); }
  void cancel(const std::vector<SharedCall*>& calls);
  void cancel_begin();                                     // ends the cancelled calls that have no request in flight
  void cancel_end(const std::vector<SharedCall*>& calls);  // ends them all, with the connection
  void shut_down();                                        // ends open files, session and client id, if the server replies soon

  // For ClientConnection, which describes them:
  void connect() { recover(); }
  // Unmounts and mounts anew, as another client, when its operations in flight have ended. Operations that begin meanwhile wait.
  // False: it has open files, or it is not up.
  bool leave();
  bool connecting() const { return recovering_; }
  int connect_error() const { return recovery_error_; }
  void begin_end();
  bool ending() const { return ending_ && !ended_; }
  void add_figures(ClientFigures* figures) const;
  void end_everything();

 private:
  friend struct Rpc;
  struct Slot {
    uint32_t sequence = 1;
  };

  // --- requests (client.cpp) ---
  Rpc& bare_request(size_t channel = 0);  // without SEQUENCE
  void start(Rpc& rpc);
  void make_gss();
  void transmit(Rpc& rpc);
  bool can_send() const { return !free_slots_.empty() && !channels_.full(); }
  void pump();
  void expire_backlog(int64_t now);
  void answered(Rpc& rpc, std::span<const uint8_t> message);
  void sequence_failed(Rpc& rpc);
  void interrupted(Rpc& rpc);
  void conclude(Rpc& rpc);
  void end(Rpc& rpc, int error);
  void release(Rpc& rpc, bool used);
  void retire(Rpc& rpc);
  bool delay(Rpc& rpc, int64_t timeout);
  int64_t grace_timeout() const { return options.timeout + 2'000'000'000 * int64_t(lease_); }
  template <class Which>
  void end_all(Which which, int error);
  void send_delayed(int64_t now);
  int64_t renewal() const;
  Detached renew();

  // --- the session (handshake.cpp) ---
  wire::ChannelOptions channel_options(bool one_of_many) const;
  void name_owner();
  void lose_session() { up_ = false; }
  Task make_session(bool* new_client);
  Task bind_channels();
  Task complete_reclaim();
  Detached recover();
  Detached set_up(std::string path, bool* done);
  Task mount(const std::string& path);
  Task ask_flavors(const FileHandle* at, std::span<const std::string_view> names, std::string_view name);
  Task name_flavors(const FileHandle* at, std::span<const std::string_view> names, unsigned succeeded);
  Task probe();
  Task give_up_session();
  Detached end_session();
  Detached unmount();
  void go_on_leaving();
  void set_limits(const Reply& root);

  std::string owner_id_;  // differs from run to run
  uint64_t verifier_ = 0, verifiers_ = 0;
  uint64_t clientid_ = 0;
  SessionId session_{};
  uint64_t session_number_ = 0;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  uint32_t retired_ = 0;  // slots whose last sequence number the server may or may not have seen
  ChannelAttr limits_;
  uint32_t lease_ = 90;  // s
  int64_t renewed_ = 0;
  bool up_ = false, recovering_ = false, suspicious_ = false, renewing_ = false, ending_ = false;
  bool ended_ = false;  // end_session() has ended
  // State of leave(). drains: operations are in flight. unmounts: the server is told. gone: it knows this client no more.
  enum class Leaving : uint8_t { no, drains, unmounts, gone } leaving_ = Leaving::no;
  bool is_new_ = true;    // the server has not known this client yet
  bool unknown_ = false;  // the server has forgotten this client; until a recovery succeeds
  int recovery_error_ = 0;
  int64_t recovery_until_ = 0;  // time until which requests of a recovery are repeated
  uint32_t alarms_ = 0;         // SequenceFlags of the last reply
  uint64_t epoch_ = 1;
  uint64_t remounts_ = 0;                   // times that leave() has succeeded
  uint64_t lost_leases_ = 0;                // times that the server had forgotten this client
  int64_t heard_ = 0;                       // time of the last reply
  int64_t forgotten_heard_ = 0, back_ = 0;  // ClientFigures::heard, back
  std::string problem_;                     // why the set-up failed
  ServerFeatures offers_;
  uint64_t total_bytes_ = 0, available_bytes_ = 0;

  Reply reply_;
  std::optional<rpc::GssUsers> gss_;  // none: AUTH_SYS
  RpcList<Rpc> rpcs_;
  std::deque<Rpc*> backlog_;   // requests that wait for a slot, by waits_until
  bool pumping_ = false;       // pump() is running
  std::vector<Rpc*> delayed_;  // requests that are repeated later
  CallWaitList parked_;        // calls that wait for a session
  bool silent_ = false;        // the server did not reply to the requests of a session that ended
  wire::ChannelSet channels_;  // the first makes and ends NFS sessions, the others are bound to them
};

}  // namespace fsr::nfs4
