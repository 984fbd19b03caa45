// SPDX-License-Identifier: Apache-2.0
// An AFP client's connection: the DSI session, login, the volume, requests and their replies, forks, tickles.
//
// All sessions of a target share the connection under its mutex (shared_session.hpp), because open forks and locks belong to an
// AFP session. Requests are pipelined with ids that count up, and the server replies in their order.
//
// An operation fails if it has no reply after `timeout`. This time includes reconnects.
//
// After a break, the next connection logs in again. It asks the server to resume the old session with its forks and locks
// (FPDisconnectOldSession). If the server has lost the session because it was restarted, forks are opened again, by name, when
// operations need them.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/client_figures.hpp"
#include "targets/afp/afp.hpp"
#include "targets/call_wait_list.hpp"
#include "targets/client_watch.hpp"
#include "targets/path_protocol.hpp"
#include "targets/rpc_list.hpp"
#include "targets/wire/local_addresses.hpp"

namespace fsr::afp {

class AfpClient;
struct OpCall;

// Error on a session that can't be set up. what() is one line with the reason, `step` the step that failed.
struct SetupError : std::runtime_error {
  enum class Step : uint8_t { session, login, volume };
  SetupError(Step s, const std::string& why) : std::runtime_error(why), step(s) {}
  const Step step;
};

enum class Uam : uint8_t { dhx2, clear_text, guest };
const char* uam_name(Uam uam);  // as on the wire

struct Settings {
  std::vector<wire::Address> server;
  wire::LocalAddresses local;  // own addresses of the connections
  Clock* clock = nullptr;
  std::string user, password;
  std::string volume;
  std::vector<std::string> directory;  // path in the volume of the target's root
  Uam uam = Uam::guest;
  Version version = Version::v34;
  int64_t timeout = 0;  // ns that an operation may wait for replies
  bool privileged = false;
  ClientShare clients;
};

struct Counters : PathCounters {
  std::atomic<uint64_t> resumed{0};       // sessions that the server resumed after a reconnect
  std::atomic<uint64_t> plain_links{0};   // symbolic links kept as files with the link's text
  std::atomic<uint64_t> copied_links{0};  // hard links made as copies
  std::atomic<uint64_t> notices{0};       // attentions from the server
};

// An open fork on the server. It is closed when the last reference to it ends.
struct Fork {
  Fork(AfpClient& c, uint16_t n, uint64_t s) : client(c), number(n), session(s) {}
  ~Fork();
  Fork(const Fork&) = delete;
  Fork& operator=(const Fork&) = delete;
  AfpClient& client;
  const uint16_t number;
  const uint64_t session;  // the AFP session that opened it
  bool open = true;
  bool closing = false;  // a request to close it was made
};
using ForkRef = std::shared_ptr<Fork>;

struct Rpc final : RpcBase<AfpClient, OpCall, Rpc> {
  Command command = Command::none;
  Dsi dsi = Dsi::command;
  bool harmless = true;  // true: no harm if the server performs the request twice

  Encoder out() { return Encoder(head); }
  void replied(std::span<const uint8_t> message) override;
  void failed(int error) override;
};

class AfpClient final : public WatchedClient, private wire::Listener {
 public:
  // Connects, logs in, opens the volume. Throws SetupError, or std::runtime_error if no connection can be made.
  explicit AfpClient(const Settings& s);
  // Makes a further client of the server of `first`, which lends it the counters. connect() connects it.
  AfpClient(AfpClient* first, uint32_t k);
  ~AfpClient();
  AfpClient(const AfpClient&) = delete;
  AfpClient& operator=(const AfpClient&) = delete;

  const Settings settings;

 private:
  std::unique_ptr<Counters> own_counters_;

 public:
  Counters& counters;

  bool has_xattrs() const { return settings.version >= Version::v32; }
  uint16_t volume() const { return volume_; }
  uint32_t root() const { return root_; }
  uint32_t read_size() const { return quantum_; }  // data bytes of one request
  uint32_t write_size() const { return quantum_ - kWriteHead; }

  // Returns a new request. The caller fills it in through out() and sends it at once.
  Rpc& request(OpCall* call, Command command, bool harmless = true, Dsi dsi = Dsi::command);
  using ReplyAwaiter = fsr::ReplyAwaiter<AfpClient, Rpc>;
  void begin(Rpc& rpc);
  const Reply& reply() const { return reply_; }
  ReplyAwaiter send(Rpc& rpc, std::string_view payload = {}) {
    rpc.payload = payload;
    return {*this, rpc};
  }

  // Waits for a connection that takes requests.
  Task ready(OpCall& call);
  uint64_t generation() const { return generation_; }
  bool current(const ForkRef& fork) const { return fork && &fork->client == this && fork->open && fork->session == session_; }
  Task open_fork(OpCall* call, uint32_t did, std::string_view name, uint16_t access, ForkRef* opened);
  Task close_fork(OpCall* call, ForkRef fork);  // waits for the reply

  void disconnect() { channel_.reset(); }  // ends the requests in flight
  // Does the work of advance(), for a thread that waits for nothing else. Returns after a message, a signal or `deadline` (ns).
  // True: requests had a reply or failed.
  bool wait(int64_t deadline);
  void advance(int64_t now);
  wire::Channel::Interest interest(int64_t deadline) const;
  void cancel(const std::vector<SharedCall*>& calls);
  void cancel_begin() { parked_.wake_cancelled(); }
  void cancel_end(const std::vector<SharedCall*>& calls);  // ends them all, with the connection
  uint64_t sockets() const { return channel_.sockets(); }

  std::pair<uint64_t, uint64_t> space() const { return {total_bytes_, free_bytes_}; }  // total and free bytes at the set-up

  // For ClientConnection, which describes them:
  void connect() { shake_hands(nullptr); }
  bool connecting() const { return shaking_; }
  int connect_error() const { return shake_error_; }
  void begin_end();
  bool ending() const { return ending_ && is_ready() && !logged_out_; }
  void end_everything();
  void add_figures(ClientFigures* figures) const;

 private:
  friend struct Rpc;
  friend struct Fork;
  static constexpr uint32_t kWriteHead = 36;  // bytes of a write request before its data
  bool is_ready() const { return ready_ && channel_.up() && channel_.connections() == generation_; }
  bool is_lost() const { return watch && generation_ && !is_ready() && !shaking_ && !ending_; }
  void open_and_send(Rpc& rpc);
  void conclude(Rpc& rpc);
  void fail(Rpc& rpc, int error);
  void pump();
  void on_message(std::span<const uint8_t> message) override;
  void send_control(Dsi dsi);
  void keep_session(int64_t now);
  void drop(Fork& fork);

  Detached shake_hands(bool* done);
  Task establish();
  Task log_in();
  Task log_in_dhx2();
  Task go_on_with_old_session(bool* resumed);
  Task open_volume();
  Task find_root();
  Task get_token();
  Task refuse_volume(int result);
  Detached log_out();
  wire::ChannelOptions channel_options(bool one_of_many) const;

  uint16_t volume_ = 0;
  uint32_t root_ = kRootDir;
  uint32_t quantum_ = 0;
  uint64_t free_bytes_ = 0, total_bytes_ = 0;
  bool ready_ = false, shaking_ = false, ending_ = false;
  bool logged_out_ = false;
  int shake_error_ = 0;
  int64_t return_at_ = 0;    // time of the next attempt to replace a lost connection without an operation
  uint64_t generation_ = 0;  // number of the current connection
  uint64_t session_ = 0;     // number of the AFP session; unchanged by a reconnect if the server resumes the session
  std::string client_id_, token_;
  SetupError::Step step_ = SetupError::Step::session;
  std::string problem_;  // why the set-up failed
  int64_t next_tickle_ = 0;

  Reply reply_;
  RpcList<Rpc> rpcs_;
  std::deque<Rpc*> backlog_;  // requests that wait for a request id
  CallWaitList parked_;
  bool silent_ = false;  // the server did not reply to the requests of a session that ended
  std::unique_ptr<wire::Channel> owned_channel_;
  wire::Channel& channel_;
};

// Asks the server for its versions and authentication methods on a separate connection. Throws std::runtime_error, one line.
ServerInfo ask_server_info(const std::vector<wire::Address>& server, Clock& clock, int64_t timeout);

}  // namespace fsr::afp
