// SPDX-License-Identifier: Apache-2.0
// A 9P client's connection: version and attach, requests and their replies, fids, the end of what takes too long.
//
// All sessions of a target share one connection (shared_session.hpp): fids, and with them open files and locks, belong to it.
// Everything here happens under its mutex.
//
// An operation fails when the server has not answered it for `timeout`; connecting again is part of that time. Its request is
// withdrawn with Tflush; a server that does not answer that either loses the connection. With a connection all fids are gone:
// they are remade, by name, as operations need them.
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

#include "targets/call_wait_list.hpp"
#include "targets/ninep/p9.hpp"
#include "targets/path_protocol.hpp"
#include "targets/rpc_list.hpp"

namespace fsr::ninep {

class Client;
struct Call;

struct Settings {
  std::vector<wire::Address> server;
  Clock* clock = nullptr;
  std::string uname, aname;
  uint32_t uid = 0, gid = 0;       // whom to act as where operations don't say, and whose group new files get
  uint32_t msize = 0;              // the longest message we ask for
  std::optional<Dialect> dialect;  // nothing: the best that the server speaks
  int64_t timeout = 0;             // of an operation's wait for an answer, ns
  bool privileged = false, impersonate = false;
};

constexpr int64_t kFlushPatience = 1'000'000'000;  // ns for the answer to the Tflush of a late request

struct Counters : PathCounters {
  std::atomic<uint64_t> flushed{0};        // requests withdrawn
  std::atomic<uint64_t> unknown_words{0};  // errors whose words nobody knows
};

// A file on the server, as long as somebody refers to it. Clunked with its last reference.
struct Fid {
  Fid(Client& c, uint32_t n, uint64_t g, uint64_t e) : client(c), number(n), generation(g), epoch(e) {}
  ~Fid();
  Fid(const Fid&) = delete;
  Fid& operator=(const Fid&) = delete;
  Client& client;
  const uint32_t number;
  const uint64_t generation;  // the connection
  uint64_t epoch;             // see Tree::epoch
  bool live = false;          // the server knows it
  uint8_t qid_type = 0;
  uint64_t qid_path = 0;
  uint32_t iounit = 0;  // 0: as the message size allows
};
using FidRef = std::shared_ptr<Fid>;

struct Rpc final : RpcBase<Client, Call, Rpc> {
  Type type = Type::version;
  bool harmless = true;      // may be done twice
  bool unsent = false;       // waits for a tag
  bool withdrawn = false;    // a Tflush is under way
  uint32_t clunks = kNoFid;  // the number is free afterwards
  Rpc* withdraws = nullptr;
  uint64_t withdraws_serial = 0;
  int64_t until = 0;

  Encoder out() { return Encoder(head); }
  void replied(std::span<const uint8_t> message) override;
  void failed(int error) override;
};

class Client {
 public:
  // Connects, agrees on dialect and message size, attaches. Throws std::runtime_error, one line.
  explicit Client(const Settings& s);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const Settings settings;
  Counters counters;

  Dialect dialect() const { return dialect_; }
  bool has_xattrs() const { return xattrs_; }
  bool linux() const { return dialect_ == Dialect::l; }
  uint32_t transfer_size(const Fid& fid) const;  // data bytes of one request
  uint32_t longest_message() const { return msize_; }
  // The first words of an error that nobody knows, printable; to be read once counters.unknown_words is not 0.
  const std::string& unknown_words() const { return unknown_words_; }

  // Begins a request, to be filled in through out() and sent at once.
  Rpc& request(Call* call, Type type, bool harmless = true) {
    return request(call, type, harmless, type == Type::flush ? kFlushPatience : settings.timeout);
  }
  using ReplyAwaiter = fsr::ReplyAwaiter<Client, Rpc>;
  void begin(Rpc& rpc);
  const Reply& reply() const { return reply_; }
  ReplyAwaiter send(Rpc& rpc, std::string_view payload = {}) {
    rpc.payload = payload;
    return {*this, rpc};
  }

  // Waits for a connection that requests can be made on.
  Task ready(Call& call);
  bool is_ready() const { return ready_ && channel_.up() && channel_.connections() == generation_; }
  uint64_t generation() const { return generation_; }
  bool current(const FidRef& fid) const { return fid && fid->live && fid->generation == generation_; }

  FidRef new_fid();
  Task walk(Call* call, FidRef from, std::span<const std::string_view> names, FidRef* found);  // no names: a copy
  Task clunk(Call* call, FidRef fid, bool harmless = true);                                    // waits for it
  Task root(Call* call, uint32_t uid, FidRef* found);

  // Sends and receives what there is, ends what is late.
  void advance(int64_t now);
  wire::Channel::Interest interest(int64_t deadline) const;
  // The calls of a session that ends are finished when this returns.
  void cancel(const std::vector<SharedCall*>& calls);

  // Of the tree, as it was at the set-up.
  std::pair<uint64_t, uint64_t> space() const { return {total_bytes_, available_bytes_}; }

  uint64_t epoch = 0;  // new fids get it

 private:
  friend struct Rpc;
  friend struct Fid;
  Rpc& request(Call* call, Type type, bool harmless, int64_t patience);
  void open_and_send(Rpc& rpc);
  void pump();
  void answered(Rpc& rpc, std::span<const uint8_t> message);
  void conclude(Rpc& rpc);
  void withdraw(Rpc& rpc);
  int reason_to_withdraw(const Rpc& rpc) const;
  void end(Rpc& rpc, int error);  // one that never got onto the wire, or was withdrawn
  void drop(Fid& fid);
  Detached shake_hands();
  Task agree();
  Task attach(Call* call, uint32_t uid, FidRef* found);
  Detached set_up(bool* done);
  Task demands_authentication(bool* demands);

  wire::ChannelOptions channel_options() const;

  Dialect dialect_ = Dialect::l;
  bool agreed_ = false;  // once
  bool xattrs_ = false;
  uint64_t total_bytes_ = 0, available_bytes_ = 0;
  uint32_t msize_ = 0;
  bool ready_ = false, shaking_ = false, ending_ = false;
  int shake_error_ = 0;
  uint64_t generation_ = 0;
  std::string problem_;  // of the set-up
  std::string unknown_words_;

  Reply reply_;
  RpcList<Rpc> rpcs_;  // in use: by `until`
  std::list<Rpc> withdrawn_;
  std::deque<Rpc*> backlog_;  // wait for a tag
  CallWaitList parked_;
  bool silent_ = false;  // a session that ended waited for the server in vain
  uint32_t next_number_ = 0;
  std::vector<uint32_t> free_numbers_;
  std::unordered_map<uint32_t, FidRef> roots_;
  std::unique_ptr<wire::Channel> owned_channel_;
  wire::Channel& channel_;
};

const char* dialect_name(Dialect d);            // "9P2000.L"
std::string printable(std::string_view words);  // of a server, at most 64 of them

}  // namespace fsr::ninep
