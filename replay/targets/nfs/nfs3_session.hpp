// SPDX-License-Identifier: Apache-2.0
// A session with an NFSv3 server: one or several connections (nconnect), and the operations in flight on them.
//
// An operation is an OpCall, a small state machine. It sends requests (Rpc), and names the function that handles each reply,
// until it calls finish(). Calls and Rpcs are reused. Used by one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/target.hpp"
#include "targets/nfs/nfs_state.hpp"
#include "targets/nfs/nlm4.hpp"
#include "targets/wire/channel_set.hpp"

namespace fsr::nfs {

class Nfs3Session;
struct OpCall;
struct Rpc;

// Handles the reply to a request, or its error. `error`: not 0: `reply` is not valid. `rpc` is free for reuse afterwards.
using Then = void (*)(OpCall& call, const Rpc& rpc, const Reply& reply, int error);

struct Rpc final : wire::Exchange {
  Nfs3Session* session = nullptr;
  OpCall* call = nullptr;
  wire::Channel* channel = nullptr;
  Proc proc = Proc::null;
  LockProc lock = LockProc::none;  // none: an NFS request; otherwise a request to the lock manager
  Then then = nullptr;
  uint64_t offset = 0;  // READ, WRITE
  uint32_t count = 0;
  uint32_t piece = 0;                                      // index in OpCall::lost or Nfs3Session::again_
  uint64_t stamp = 0;                                      // WRITE: NfsState::rewriting_stamp()
  unsigned races = 0;                                      // how often it raced with older data that is written again
  bool reclaim = false;                                    // the lock is requested again after a restart
  int64_t lock_until = INT64_MIN;                          // time until which a lock is asked for if another owner holds it
  int64_t retry_until = 0, retry_at = 0, retry_delay = 0;  // ns; used if the server asks to retry later

  void replied(std::span<const uint8_t> message) override;
  void failed(int error) override;
};

// A lock or unlock of bytes [start, end] of a file.
struct LockRequest {
  LockOwner owner;
  uint64_t start = 0, end = 0;
  bool exclusive = false;
};

struct OpCall {
  Nfs3Session* session = nullptr;
  TargetRequest* request = nullptr;
  Identity who;
  uint32_t auxiliary = 0;
  bool submitting = false, finished = false;

  FileHandle handle, handle2;  // the operation's object or directory, and its second directory
  int error = 0;
  // A transfer in several requests. Bytes [next, end) are not requested yet. Bytes [start, short_at) are transferred when no
  // request is outstanding.
  uint64_t start = 0, next = 0, end = 0, short_at = 0;
  unsigned outstanding = 0;
  Stable stable = Stable::unstable;
  bool append = false;
  ObjectId object = kNoObject;  // object that is written to
  // For data that the server lost, which is written again by several requests:
  bool restarted = false;  // a reply to WRITE showed that the server restarted
  uint64_t commit_upto = 0;
  unsigned commits = 0;
  std::vector<LostData> lost;  // pieces that were requested so far
  unsigned rounds = 0;         // passes over the lost data
  void (*rewritten_then)(OpCall& call, int error) = nullptr;
  LockRequest lock;
  void (*unlocked_then)(OpCall& call, int error) = nullptr;
  // A listing.
  std::shared_ptr<Listing> listing;
  Batch batch;
  // Hiding an open file's name, and removing hidden names.
  HiddenName hiding;
  ObjectId hiding_object = kNoObject;
  void (*hidden_then)(OpCall& call, int error) = nullptr;
  std::vector<HiddenName> hidden;

  std::string buffer;  // data read in pieces

  const Op& op() const { return *request->op; }
  NfsState& state() const;
};

class Nfs3Session final : public TargetSession {
 public:
  static constexpr unsigned kMostCalls = 128;  // operations in flight
  static constexpr unsigned kParallel = 8;     // requests of one operation in flight at once

  // Connects; throws std::runtime_error, one line.
  explicit Nfs3Session(std::shared_ptr<NfsState> state);

  Submit submit(TargetRequest& request) override;
  void poll(int64_t deadline, int wake, Completion& sink) override;
  void prefer_throughput() override { channels_.prefer_throughput(); }

  // For the operations:
  NfsState& state() { return *state_; }
  // Begins a request. The caller encodes its arguments to rpc.head.
  Rpc& begin(OpCall& call, Proc proc, Then then);
  Rpc& begin_lock(OpCall& call, LockProc proc, Then then);  // to the lock manager
  void send(Rpc& rpc, std::string_view payload = {});
  void lock_released();   // lets operations that wait for a lock ask again
  void lock_had_again();  // a lock was granted again or lost: requests the next one
  const HeldLocks::Held& again(uint32_t piece) const { return again_[piece]; }
  void finish(OpCall& call, int error);  // `call` must not be used afterwards

 private:
  friend struct Rpc;
  Rpc& free_rpc(OpCall& call, Then then);
  void answered(Rpc& rpc, std::span<const uint8_t> message);
  void lock_answered(Rpc& rpc, std::span<const uint8_t> message);
  void conclude(Rpc& rpc, int error);
  bool delay(Rpc& rpc);
  void send_delayed();
  int64_t next_delayed(int64_t deadline) const;
  void watch_locks();
  void reclaim_next();

  std::shared_ptr<NfsState> state_;
  Reply reply_;  // reply in the current message
  std::vector<std::unique_ptr<OpCall>> calls_;
  std::vector<std::unique_ptr<Rpc>> rpcs_;
  std::vector<OpCall*> free_calls_;
  std::vector<Rpc*> free_rpcs_;
  std::vector<Rpc*> delayed_;
  Completion* sink_ = nullptr;
  uint64_t completions_ = 0;
  // After a break of the lock channel: locks to request again, number of those requested, number of those finished.
  std::vector<HeldLocks::Held> again_;
  uint32_t again_asked_ = 0, again_done_ = 0;
  bool locks_up_ = false;
  OpCall again_call_;                      // call of the requests for these locks
  wire::Channel* lock_channel_ = nullptr;  // one of channels_
  wire::ChannelSet channels_;              // last member: destroyed before the members that it refers to
};

}  // namespace fsr::nfs
