// SPDX-License-Identifier: Apache-2.0
// An NFSv4.1 client as the server knows it: its client id, its session with slots, requests and replies, and its lease. Restores
// these when the server has forgotten them.
//
// All sessions (of this program) share one client, one session (of the protocol) and its connections, one or several (nconnect;
// shared_session.hpp): open files and locks belong to the client. Every request but those that make the session begins with
// SEQUENCE in a slot; what must not be done twice asks the server to keep its reply there. So a request whose connection broke is
// sent again with the same sequence number (counted as such), and is done once. Only where the server forgot the session, by a
// restart, is it not known whether that was done: such operations fail and are counted as lost; all others begin again.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.hpp"
#include "targets/call_wait_list.hpp"
#include "targets/nfs/nfs_state.hpp"
#include "targets/nfs4/compound.hpp"
#include "targets/rpc_list.hpp"
#include "targets/shared_session.hpp"
#include "targets/wire/channel_set.hpp"

namespace fsr::nfs4 {

class Client;
struct Call;

struct Counters {
  wire::ChannelCounters wire;
  std::atomic<uint64_t> delayed{0};      // NFS4ERR_DELAY: asked again later
  std::atomic<uint64_t> grace{0};        // NFS4ERR_GRACE: likewise
  std::atomic<uint64_t> repeated{0};     // operations begun again after the server forgot session or state
  std::atomic<uint64_t> lost{0};         // operations of which it isn't known whether the server performed them
  std::atomic<uint64_t> sessions{0};     // sessions made after the first
  std::atomic<uint64_t> reclaimed{0};    // open files and locks that a restarted server took back
  std::atomic<uint64_t> reopened{0};     // open files opened anew, as it would not
  std::atomic<uint64_t> relocked{0};     // locks asked for anew, as it would not, and had
  std::atomic<uint64_t> lost_opens{0};   // open files that could not be had again
  std::atomic<uint64_t> lost_locks{0};   // locks that could not
  std::atomic<uint64_t> delegations{0};  // given unasked, and returned
  std::atomic<uint64_t> renewals{0};     // of the lease, when idle
  std::array<std::atomic<uint64_t>, kOpNums>
      requests{};  // COMPOUNDs begun, by what they are about; one that is sent again is one
};

struct Rpc final : RpcBase<Client, Call, Rpc> {
  Compound compound;
  wire::Channel* bound_for = nullptr;  // nullptr: any
  wire::Channel* channel = nullptr;    // it was sent on
  bool guarded = false;                // an OPEN or SETXATTR in it fails if it was done before
  size_t effect = 0;                   // of its operations, the first that must not be done twice; none: beyond the last
  uint32_t slot = kNoSlot;
  uint64_t epoch = 0;
  uint64_t session = 0;  // number of the session that the slot belongs to
  bool waits = false;    // for a slot
  unsigned repeats = 0;  // since its reply was not kept
  int64_t retry_until = 0, retry_at = 0, retry_delay = 0;

  static constexpr uint32_t kNoSlot = UINT32_MAX;
  bool harmless() const { return effect >= compound.ops().size(); }
  void replied(std::span<const uint8_t> message) override;
  void failed(int error) override;
};

// Restores the state that the server forgot.
class Recovery {
 public:
  virtual void forgotten() = 0;  // all of it
  // Asks a server that restarted to take back what it knew. It wants to hear that this is complete before anything else.
  virtual Task reclaim() = 0;
  // Opens and locks anew what is still forgotten.
  virtual Task regain() = 0;
  virtual Task close_all() = 0;

 protected:
  ~Recovery() = default;
};

class Client {
 public:
  // Connects, makes client and session, finds the export `path` and fills in `options`: root and limits. Throws
  // std::runtime_error, one line.
  Client(const nfs::NfsOptions& o, uint32_t minor_version, const std::string& path);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  nfs::NfsOptions options;
  const uint32_t minor_version;
  Counters counters;
  Recovery* recovery = nullptr;

  // The server's answer to a first use of what is optional, on the export's root: kOk = offered.
  struct ServerFeatures {
    uint32_t allocate = kNotSupported, seek = kNotSupported, copy = kNotSupported, xattrs = kNotSupported;
  };
  const ServerFeatures& offers() const { return offers_; }
  std::pair<uint64_t, uint64_t> space() const { return {total_bytes_, available_bytes_}; }  // bytes, as at the set-up

  // Begins a request, with SEQUENCE in it already; to be filled in and sent at once.
  Rpc& request(Call* call, const Identity& who);
  using ReplyAwaiter = fsr::ReplyAwaiter<Client, Rpc>;
  void begin(Rpc& rpc);
  const Reply& reply() const { return reply_; }
  ReplyAwaiter send(Rpc& rpc, std::string_view payload = {}) {
    rpc.payload = payload;
    rpc.padding = uint8_t(XdrEncoder::padding(payload.size()));
    return {*this, rpc};
  }

  uint64_t fresh_verifier() { return verifier_ ^ ++verifiers_; }  // of an exclusive create

  // Waits for a session. Yields an errno if none can be had.
  Task ready(Call& call);
  uint64_t epoch() const { return epoch_; }  // changes when the server's state was made anew
  // The server knew an open file or lock of this epoch no more.
  void suspect(uint64_t epoch);

  void advance(int64_t now);
  wire::Channel::Interest interest(int64_t deadline) const;
  uint64_t generation() const { return channels_.generation(); }
  void cancel(const std::vector<SharedCall*>& calls);
  void shut_down();  // gives up open files, session and client id, as far as the server answers soon
  void end_everything();

 private:
  friend struct Rpc;
  struct Slot {
    uint32_t sequence = 1;
  };

  // --- requests (client.cpp) ---
  Rpc& bare_request(size_t channel = 0);  // without SEQUENCE
  void start(Rpc& rpc);
  void transmit(Rpc& rpc);
  void pump();
  void answered(Rpc& rpc, std::span<const uint8_t> message);
  void sequence_failed(Rpc& rpc);
  void interrupted(Rpc& rpc);
  void conclude(Rpc& rpc);
  void end(Rpc& rpc, int error);
  void release(Rpc& rpc, bool used);
  void retire(Rpc& rpc);
  bool delay(Rpc& rpc, int64_t patience);
  int64_t grace_patience() const { return options.timeout + 2'000'000'000 * int64_t(lease_); }
  template <class Which>
  void end_all(Which which, int error);
  void send_delayed(int64_t now);
  int64_t renewal() const;
  Detached renew();

  // --- the session (handshake.cpp) ---
  wire::ChannelOptions channel_options() const;
  void lose_session() { up_ = false; }
  Task make_session(bool* new_client);
  Task bind_channels();
  Task complete_reclaim();
  Detached recover();
  Detached set_up(std::string path, bool* done);
  Task mount(const std::string& path);
  Task probe();
  Detached say_goodbye(bool* done);
  void set_limits(const Reply& root);

  std::string owner_id_;  // tells this run from others
  uint64_t verifier_ = 0, verifiers_ = 0;
  uint64_t clientid_ = 0;
  SessionId session_{};
  uint64_t session_number_ = 0;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  uint32_t retired_ = 0;  // slots of which it isn't known what the server has seen
  ChannelAttr limits_;
  uint32_t lease_ = 90;  // s
  int64_t renewed_ = 0;
  bool up_ = false, recovering_ = false, suspicious_ = false, renewing_ = false, ending_ = false;
  bool unknown_ = false;  // to the server, which knew us; until a recovery succeeds
  int recovery_error_ = 0;
  int64_t recovery_until_ = 0;  // its requests are not delayed for longer, all together
  uint32_t alarms_ = 0;         // SequenceFlag, as last told
  uint64_t epoch_ = 1;
  std::string problem_;  // of the set-up
  ServerFeatures offers_;
  uint64_t total_bytes_ = 0, available_bytes_ = 0;

  Reply reply_;
  RpcList<Rpc> rpcs_;
  std::deque<Rpc*> backlog_;   // wait for a slot
  std::vector<Rpc*> delayed_;  // wait for the server
  CallWaitList parked_;        // wait for a session
  bool silent_ = false;        // a session that ended waited for the server in vain
  wire::ChannelSet channels_;  // the first makes and ends sessions, the others are bound to them
};

}  // namespace fsr::nfs4
