// SPDX-License-Identifier: Apache-2.0
// An AFP client's connection: the DSI session, login, the volume, requests and their replies, forks, tickles.
//
// All sessions of a target share it (shared_session.hpp), under its mutex: open forks and locks belong to an AFP session. Request
// ids count up, so requests are pipelined; the server answers them in order.
//
// An operation fails when the server has not answered it for `timeout`; connecting again is part of that time.
//
// When the connection breaks, the next one logs in again and asks the server to go on with the old session, whose forks and locks
// it kept (FPDisconnectOldSession). A server that was restarted has none: forks are opened again, by name, as operations need
// them.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "targets/afp/afp.hpp"
#include "targets/call_wait_list.hpp"
#include "targets/path_protocol.hpp"
#include "targets/rpc_list.hpp"

namespace fsr::afp {

class Client;
struct Call;

// Why there is no session, one line, and how far it came.
struct SetupError : std::runtime_error {
  enum class Step : uint8_t { session, login, volume };
  SetupError(Step s, const std::string& why) : std::runtime_error(why), step(s) {}
  const Step step;
};

enum class Uam : uint8_t { dhx2, clear_text, guest };
const char* uam_name(Uam uam);  // as on the wire

struct Settings {
  std::vector<wire::Address> server;
  Clock* clock = nullptr;
  std::string user, password;
  std::string volume;
  std::vector<std::string> directory;  // of the volume, the target's root
  Uam uam = Uam::guest;
  Version version = Version::v34;
  int64_t timeout = 0;  // of an operation's wait for an answer, ns
  bool privileged = false;
};

struct Counters : PathCounters {
  std::atomic<uint64_t> resumed{0};       // sessions that the server went on with after a reconnect
  std::atomic<uint64_t> plain_links{0};   // symbolic links kept as files that hold their text
  std::atomic<uint64_t> copied_links{0};  // hard links made as copies
  std::atomic<uint64_t> notices{0};       // attentions from the server
};

// An open fork on the server, as long as somebody refers to it. Closed with its last reference.
struct Fork {
  Fork(Client& c, uint16_t n, uint64_t s) : client(c), number(n), session(s) {}
  ~Fork();
  Fork(const Fork&) = delete;
  Fork& operator=(const Fork&) = delete;
  Client& client;
  const uint16_t number;
  const uint64_t session;  // of AFP
  bool open = true;
  bool closing = false;  // the server was asked to
};
using ForkRef = std::shared_ptr<Fork>;

struct Rpc final : RpcBase<Client, Call, Rpc> {
  Command command = Command::none;
  Dsi dsi = Dsi::command;
  bool harmless = true;  // may be done twice

  Encoder out() { return Encoder(head); }
  void replied(std::span<const uint8_t> message) override;
  void failed(int error) override;
};

class Client final : private wire::Listener {
 public:
  // Connects, logs in, opens the volume. Throws SetupError, or std::runtime_error where no connection can be made.
  explicit Client(const Settings& s);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const Settings settings;
  Counters counters;

  bool has_xattrs() const { return settings.version >= Version::v32; }
  uint16_t volume() const { return volume_; }
  uint32_t root() const { return root_; }
  uint32_t read_size() const { return quantum_; }  // data bytes of one request
  uint32_t write_size() const { return quantum_ - kWriteHead; }

  // Begins a request, to be filled in through out() and sent at once.
  Rpc& request(Call* call, Command command, bool harmless = true, Dsi dsi = Dsi::command);
  using ReplyAwaiter = fsr::ReplyAwaiter<Client, Rpc>;
  void begin(Rpc& rpc);
  const Reply& reply() const { return reply_; }
  ReplyAwaiter send(Rpc& rpc, std::string_view payload = {}) {
    rpc.payload = payload;
    return {*this, rpc};
  }

  // Waits for a connection that requests can be made on.
  Task ready(Call& call);
  uint64_t generation() const { return generation_; }
  bool current(const ForkRef& fork) const { return fork && fork->open && fork->session == session_; }
  Task open_fork(Call* call, uint32_t did, std::string_view name, uint16_t access, ForkRef* opened);
  Task close_fork(Call* call, ForkRef fork);  // waits for it

  void disconnect() { channel_.reset(); }  // ends what is under way
  // For a thread that waits for nothing else: what advance() does, until a message came, `deadline` (ns) or a signal. True:
  // requests were answered or failed.
  bool wait(int64_t deadline);
  void advance(int64_t now);
  wire::Channel::Interest interest(int64_t deadline) const;
  void cancel(const std::vector<SharedCall*>& calls);

  std::pair<uint64_t, uint64_t> space() const { return {total_bytes_, free_bytes_}; }  // as it was at the set-up

 private:
  friend struct Rpc;
  friend struct Fork;
  static constexpr uint32_t kWriteHead = 36;  // what a write has beside its data
  bool is_ready() const { return ready_ && channel_.up() && channel_.connections() == generation_; }
  void open_and_send(Rpc& rpc);
  void conclude(Rpc& rpc);
  void fail(Rpc& rpc, int error);
  void pump();
  void heard(std::span<const uint8_t> message) override;
  void say(Dsi dsi);
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
  Detached log_out(bool* done);
  wire::ChannelOptions channel_options() const;

  uint16_t volume_ = 0;
  uint32_t root_ = kRootDir;
  uint32_t quantum_ = 0;
  uint64_t free_bytes_ = 0, total_bytes_ = 0;
  bool ready_ = false, shaking_ = false, ending_ = false;
  int shake_error_ = 0;
  uint64_t generation_ = 0;  // of connections
  uint64_t session_ = 0;     // of AFP sessions: outlives a connection when the server goes on with it
  std::string client_id_, token_;
  SetupError::Step step_ = SetupError::Step::session;
  std::string problem_;  // of the set-up
  int64_t next_tickle_ = 0;

  Reply reply_;
  RpcList<Rpc> rpcs_;
  std::deque<Rpc*> backlog_;  // wait for a request id
  CallWaitList parked_;
  bool silent_ = false;  // a session that ended waited for the server in vain
  std::unique_ptr<wire::Channel> owned_channel_;
  wire::Channel& channel_;
};

// What the server speaks, asked on a connection of its own. Throws std::runtime_error, one line.
ServerInfo ask_server_info(const std::vector<wire::Address>& server, Clock& clock, int64_t timeout);

}  // namespace fsr::afp
