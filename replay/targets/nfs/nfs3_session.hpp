// SPDX-License-Identifier: Apache-2.0
// The connections of one session to an NFSv3 server, one or several (nconnect), and the operations under way on them.
//
// An operation is a Call: a small state machine that sends requests (Rpc) and goes on in the function it named for each reply,
// until it calls finish(). Calls and Rpcs come from free lists. One thread.
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
struct Call;
struct Rpc;

// A request was answered, or will never be (error != 0: `reply` holds nothing). `rpc` is free again afterwards.
using Then = void (*)(Call& call, const Rpc& rpc, const Reply& reply, int error);

struct Rpc final : wire::Exchange {
  Nfs3Session* session = nullptr;
  Call* call = nullptr;
  wire::Channel* channel = nullptr;
  Proc proc = Proc::null;
  LockProc lock = LockProc::none;  // else it is the lock manager's
  Then then = nullptr;
  uint64_t offset = 0;  // READ, WRITE
  uint32_t count = 0;
  uint32_t piece = 0;                                      // of Call::lost; of Nfs3Session::again_
  uint64_t stamp = 0;                                      // WRITE: NfsState::rewriting_stamp()
  unsigned races = 0;                                      // of it so far, with older data that is written again
  bool reclaim = false;                                    // of a lock
  int64_t lock_until = INT64_MIN;                          // while somebody else holds it, it is asked for until then
  int64_t retry_until = 0, retry_at = 0, retry_delay = 0;  // ns, when the server asks for patience

  void replied(std::span<const uint8_t> message) override;
  void failed(int error) override;
};

// Bytes [start, end] of a file, to be locked or unlocked.
struct LockRequest {
  LockOwner owner;
  uint64_t start = 0, end = 0;
  bool exclusive = false;
};

struct Call {
  Nfs3Session* session = nullptr;
  Request* request = nullptr;
  Identity who;
  uint32_t auxiliary = 0;
  bool submitting = false, finished = false;

  FileHandle handle, handle2;  // what the operation is about, its second directory
  int error = 0;
  // A transfer in several requests: bytes [next, end) are not yet asked for, [start, short_at) are done once none is outstanding.
  uint64_t start = 0, next = 0, end = 0, short_at = 0;
  unsigned outstanding = 0;
  Stable stable = Stable::unstable;
  bool append = false;
  ObjectId object = kNoObject;  // written to
  // What the server lost is written again, by as many requests.
  bool restarted = false;  // a WRITE was told so
  uint64_t commit_upto = 0;
  unsigned commits = 0;
  std::vector<LostData> lost;  // that was asked for so far
  unsigned rounds = 0;         // through what is lost
  void (*rewritten_then)(Call& call, int error) = nullptr;
  LockRequest lock;
  void (*unlocked_then)(Call& call, int error) = nullptr;
  // A listing.
  std::shared_ptr<Listing> listing;
  Batch batch;
  // Hiding an open file's name, and removing hidden names.
  HiddenName hiding;
  ObjectId hiding_object = kNoObject;
  void (*hidden_then)(Call& call, int error) = nullptr;
  std::vector<HiddenName> hidden;

  std::string buffer;  // data read in pieces

  const Op& op() const { return *request->op; }
  NfsState& state() const;
};

class Nfs3Session final : public Session {
 public:
  static constexpr unsigned kMostCalls = 128;  // operations under way
  static constexpr unsigned kParallel = 8;     // requests of one operation

  // Connects; throws std::runtime_error, one line.
  explicit Nfs3Session(std::shared_ptr<NfsState> state);

  Submit submit(Request& request) override;
  void poll(int64_t deadline, int wake, Completion& sink) override;
  void prefer_throughput() override { channels_.prefer_throughput(); }

  // For the operations:
  NfsState& state() { return *state_; }
  // Begins a request; its arguments are encoded to rpc.head.
  Rpc& begin(Call& call, Proc proc, Then then);
  Rpc& begin_lock(Call& call, LockProc proc, Then then);  // to the lock manager
  void send(Rpc& rpc, std::string_view payload = {});
  void lock_released();   // those that wait for a lock ask again
  void lock_had_again();  // or lost: the next one is asked for
  const HeldLocks::Held& again(uint32_t piece) const { return again_[piece]; }
  void finish(Call& call, int error);  // `call` is gone, or will be soon

 private:
  friend struct Rpc;
  Rpc& free_rpc(Call& call, Then then);
  void answered(Rpc& rpc, std::span<const uint8_t> message);
  void lock_answered(Rpc& rpc, std::span<const uint8_t> message);
  void conclude(Rpc& rpc, int error);
  bool delay(Rpc& rpc);
  void send_delayed();
  int64_t next_delayed(int64_t deadline) const;
  void watch_locks();
  void reclaim_next();

  std::shared_ptr<NfsState> state_;
  Reply reply_;  // of the message at hand
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<std::unique_ptr<Rpc>> rpcs_;
  std::vector<Call*> free_calls_;
  std::vector<Rpc*> free_rpcs_;
  std::vector<Rpc*> delayed_;
  Completion* sink_ = nullptr;
  uint64_t completions_ = 0;
  // After the lock channel broke: the locks to be had again, how many were asked for, and how many of these are done.
  std::vector<HeldLocks::Held> again_;
  uint32_t again_asked_ = 0, again_done_ = 0;
  bool locks_up_ = false;
  Call again_call_;                        // theirs
  wire::Channel* lock_channel_ = nullptr;  // of channels_
  wire::ChannelSet channels_;              // last: their end comes before that of what they refer to
};

}  // namespace fsr::nfs
