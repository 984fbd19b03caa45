// SPDX-License-Identifier: Apache-2.0
// A 9P client's connection: version and attach, requests and their replies, fids, timeouts.
//
// All sessions of a target share one connection (shared_session.hpp), because fids, and with them open files and locks, belong to
// it. All functions are called under its mutex.
//
// An operation fails if it has no reply after `timeout`. This time includes reconnects. Its request is withdrawn with Tflush. If
// the server does not reply to that either, the client closes the connection. All fids end with a connection. They are made
// again, by name, when operations need them.
#pragma once

#include <atomic>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/client_figures.hpp"
#include "targets/call_wait_list.hpp"
#include "targets/client_watch.hpp"
#include "targets/ninep/p9.hpp"
#include "targets/path_protocol.hpp"
#include "targets/rpc_list.hpp"
#include "targets/wire/local_addresses.hpp"

namespace fsr::ninep {

// True if a request that makes a fid and ended with `error` may have been performed: it was withdrawn, and its reply may come
// late.
inline bool may_know_fid(int error) { return error == ETIMEDOUT || error == ECANCELED; }

class NinepClient;
struct OpCall;

struct Settings {
  std::vector<wire::Address> server;
  wire::LocalAddresses local;  // own addresses of the connections
  Clock* clock = nullptr;
  std::string uname, aname;
  uint32_t uid = 0, gid = 0;       // used if an operation has no user; gid also is the group of new files
  uint32_t msize = 0;              // the longest message that the client requests, bytes
  std::optional<Dialect> dialect;  // none: the best that the server speaks
  int64_t timeout = 0;             // ns that an operation may wait for replies
  bool privileged = false, impersonate = false;
  ClientShare clients;
};

constexpr int64_t kFlushTimeout = 1'000'000'000;  // ns for the reply to the Tflush of a late request

struct Counters : PathCounters {
  std::atomic<uint64_t> flushed{0};        // requests withdrawn
  std::atomic<uint64_t> unknown_words{0};  // errors with a text that error_number() does not know
};

// A fid: a reference to a file on the server. It is clunked when the last reference to this object ends.
struct Fid {
  Fid(NinepClient& c, uint32_t n, uint64_t g, uint64_t e) : client(c), number(n), generation(g), epoch(e) {}
  ~Fid();
  Fid(const Fid&) = delete;
  Fid& operator=(const Fid&) = delete;
  NinepClient& client;
  const uint32_t number;
  const uint64_t generation;  // number of its connection
  uint64_t epoch;             // see Tree::epoch
  bool live = false;          // true: the server knows the fid, or may know it
  uint8_t qid_type = 0;
  uint64_t qid_path = 0;
  uint32_t iounit = 0;  // 0: as the message size allows
};
using FidRef = std::shared_ptr<Fid>;

struct Rpc final : RpcBase<NinepClient, OpCall, Rpc> {
  Type type = Type::version;
  bool harmless = true;      // true: no harm if the server performs the request twice
  bool unsent = false;       // waits for a tag
  bool withdrawn = false;    // its Tflush is in flight
  uint32_t clunks = kNoFid;  // fid number that is free after the reply
  Rpc* withdraws = nullptr;
  uint64_t withdraws_serial = 0;
  int64_t until = 0;

  Encoder out() { return Encoder(head); }
  void replied(std::span<const uint8_t> message) override;
  void failed(int error) override;
};

class NinepClient : public WatchedClient {
 public:
  // Connects, agrees on dialect and message size, attaches. Throws std::runtime_error, one line.
  explicit NinepClient(const Settings& s);
  // Makes a further client of the server of `first`, which lends it the counters and what it learnt of the server. connect()
  // connects it.
  NinepClient(NinepClient* first, uint32_t k);
  ~NinepClient();
  NinepClient(const NinepClient&) = delete;
  NinepClient& operator=(const NinepClient&) = delete;

  const Settings settings;

 private:
  std::unique_ptr<Counters> own_counters_;
  uint64_t own_epoch_ = 0;

 public:
  Counters& counters;
  uint64_t& epoch;  // the epoch that new fids get, the same for all clients

  Dialect dialect() const { return dialect_; }
  bool has_xattrs() const { return xattrs_; }
  bool linux() const { return dialect_ == Dialect::l; }
  uint32_t transfer_size(const Fid& fid) const;  // data bytes of one request
  uint32_t longest_message() const { return msize_; }
  // The first error text that was not known, printable. Valid only if counters.unknown_words is not 0.
  const std::string& unknown_words() const { return unknown_words_; }

  // Returns a new request. The caller fills it in through out() and sends it at once.
  Rpc& request(OpCall* call, Type type, bool harmless = true) {
    return request(call, type, harmless, type == Type::flush ? kFlushTimeout : settings.timeout);
  }
  using ReplyAwaiter = fsr::ReplyAwaiter<NinepClient, Rpc>;
  void begin(Rpc& rpc);
  const Reply& reply() const { return reply_; }
  ReplyAwaiter send(Rpc& rpc, std::string_view payload = {}) {
    rpc.payload = payload;
    return {*this, rpc};
  }

  // Waits for a connection that takes requests.
  Task ready(OpCall& call);
  bool is_ready() const { return ready_ && channel_.up() && channel_.connections() == generation_; }
  uint64_t generation() const { return generation_; }
  bool current(const FidRef& fid) const { return fid && &fid->client == this && fid->live && fid->generation == generation_; }

  FidRef new_fid();
  Task walk(OpCall* call, FidRef from, std::span<const std::string_view> names, FidRef* found);  // no names: a copy
  Task clunk(OpCall* call, FidRef fid, bool harmless = true);                                    // waits for the reply
  Task root(OpCall* call, uint32_t uid, FidRef* found);

  // Sends and receives as much as possible without waiting, and withdraws late requests.
  void advance(int64_t now);
  wire::Channel::Interest interest(int64_t deadline) const;
  // Ends the calls of a session that is being destroyed; all are finished when this returns.
  void cancel(const std::vector<SharedCall*>& calls);
  void cancel_begin();                                     // withdraws the requests of the cancelled calls
  void cancel_end(const std::vector<SharedCall*>& calls);  // ends them all, with the connection
  uint64_t sockets() const { return channel_.sockets(); }

  // Total and available bytes of the tree at the set-up.
  std::pair<uint64_t, uint64_t> space() const { return {total_bytes_, available_bytes_}; }

  // For ClientConnection, which describes them:
  void connect() { attach_alone(); }
  bool connecting() const { return connecting_; }
  int connect_error() const { return connect_error_; }
  void begin_end() { end_everything(); }
  bool ending() const { return false; }
  void end_everything();
  void add_figures(ClientFigures* figures) const;

 private:
  friend struct Rpc;
  friend struct Fid;
  Rpc& request(OpCall* call, Type type, bool harmless, int64_t timeout);
  void open_and_send(Rpc& rpc);
  void pump();
  void answered(Rpc& rpc, std::span<const uint8_t> message);
  void conclude(Rpc& rpc);
  void withdraw(Rpc& rpc);
  int reason_to_withdraw(const Rpc& rpc) const;
  void end(Rpc& rpc, int error);  // ends a request that was never sent or was withdrawn
  void drop(Fid& fid);
  Task shake();
  Detached shake_hands();
  bool is_lost() const { return watch && generation_ && !is_ready() && !shaking_ && !connecting_ && !ending_; }
  Detached attach_alone();
  Task agree();
  Task attach(OpCall* call, uint32_t uid, FidRef* found);
  Detached set_up(bool* done);
  Task demands_authentication(bool* demands);

  wire::ChannelOptions channel_options(bool one_of_many) const;

  Dialect dialect_ = Dialect::l;
  bool agreed_ = false;  // true: the dialect was agreed on, on this or an earlier connection
  bool xattrs_ = false;
  uint64_t total_bytes_ = 0, available_bytes_ = 0;
  uint32_t msize_ = 0;
  bool ready_ = false, shaking_ = false, ending_ = false;
  int shake_error_ = 0;
  bool connecting_ = false;  // attach_alone() is running
  int connect_error_ = 0;
  int64_t return_at_ = 0;  // time of the next attempt to replace a lost connection without an operation
  uint64_t generation_ = 0;
  std::string problem_;  // why the set-up failed
  std::string unknown_words_;

  Reply reply_;
  RpcList<Rpc> rpcs_;  // sorted by `until`
  std::list<Rpc> withdrawn_;
  std::deque<Rpc*> backlog_;  // requests that wait for a tag
  CallWaitList parked_;
  bool silent_ = false;  // the server did not reply to the requests of a session that ended
  uint32_t next_number_ = 0;
  std::vector<uint32_t> free_numbers_;
  std::unordered_map<uint32_t, FidRef> roots_;
  std::unique_ptr<wire::Channel> owned_channel_;
  wire::Channel& channel_;
};

const char* dialect_name(Dialect d);            // for example "9P2000.L"
std::string printable(std::string_view words);  // at most 64 bytes of a server's text

}  // namespace fsr::ninep
