// SPDX-License-Identifier: Apache-2.0
// Sets up a connection before its first operation (session, login, volume), and logs out after the last one.
#include <errno.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>
#include <utility>

#include "base/clock.hpp"
#include "targets/afp/dhx2.hpp"
#include "targets/afp/session.hpp"

namespace fsr::afp {

namespace {

constexpr uint8_t kAttentionQuantumOption = 1;
constexpr uint32_t kAttentionQuantum = 1024;
constexpr uint16_t kLoginWithTimeAndId = 3, kReconnect = 0;
constexpr size_t kPasswordField = 8;  // bytes
constexpr int64_t kLogoutTimeout = 1'000'000'000;

std::string printable(std::string_view s) {
  std::string out(s.substr(0, 64));
  for (char& c : out)
    if (uint8_t(c) < ' ' || c == 0x7f) c = '?';
  return out;
}

std::string random_id() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 16; ++i) id += char(random());
  return id;
}

struct StatusRequest final : wire::Exchange {
  ServerInfo info;
  int error = -1;  // -1: no reply yet
  void replied(std::span<const uint8_t> message) override { error = decode_server_info(message, &info) ? 0 : EBADMSG; }
  void failed(int e) override { error = e; }
};

}  // namespace

const char* uam_name(Uam uam) {
  return uam == Uam::dhx2 ? Dhx2::kName : uam == Uam::clear_text ? "Cleartxt Passwrd" : "No User Authent";
}

ServerInfo ask_server_info(const std::vector<wire::Address>& server, Clock& clock, int64_t timeout) {
  wire::ChannelCounters counters;
  wire::ChannelOptions options;
  options.max_message = kDsiHead + (64 << 10);
  options.depth = 1;
  options.request_timeout = timeout;
  options.stateful = true;
  wire::Channel channel(server, kProtocol, options, clock, counters);
  StatusRequest request;
  channel.open(request);
  Encoder out(request.head);
  out.begin(Command::none);
  out.end(Dsi::get_status, uint16_t(request.tag()), 0);
  channel.send(request);
  const int64_t begun = clock.now();
  while (request.error < 0 && !clock.given_up(begun)) channel.poll(clock.look_again(INT64_MAX), -1);
  if (request.error < 0) {
    channel.reset();
    throw std::runtime_error("interrupted");
  }
  if (request.error == ETIMEDOUT) throw std::runtime_error("no reply to DSIGetStatus");
  if (request.error)
    throw std::runtime_error("server closed the connection or sent a malformed reply to DSIGetStatus: no AFP server?");
  return request.info;
}

AfpClient::AfpClient(const Settings& s)
    : settings(s),
      own_counters_(std::make_unique<Counters>()),
      counters(*own_counters_),
      client_id_(random_id()),
      owned_channel_(
          std::make_unique<wire::Channel>(s.local.from(s.server, 0), kProtocol, channel_options(false), *s.clock, counters.wire)),
      channel_(*owned_channel_) {
  channel_.set_listener(this);
  Clock& clock = *settings.clock;
  const int64_t begun = clock.now();
  bool done = false;
  shake_hands(&done);
  while (!done && !clock.given_up(begun)) channel_.poll(interest(clock.look_again(INT64_MAX)).deadline, -1);
  if (is_ready()) return;
  ending_ = true;
  if (!done) {
    channel_.reset();
    problem_ = "interrupted";
  }
  throw SetupError(step_, problem_.empty() ? strerror(shake_error_) : problem_);
}

AfpClient::AfpClient(AfpClient* first, uint32_t k)
    : settings(first->settings),
      counters(first->counters),
      client_id_(random_id()),
      owned_channel_(std::make_unique<wire::Channel>(settings.local.from(settings.server, k), kProtocol, channel_options(true),
                                                     *settings.clock, counters.wire)),
      channel_(*owned_channel_) {
  channel_.set_listener(this);
}

AfpClient::~AfpClient() {
  begin_end();
  const int64_t until = settings.clock->now() + kLogoutTimeout;
  while (ending() && settings.clock->now() < until) {
    channel_.poll(until, -1);
    pump();  // the logout may wait for requests in flight
  }
  end_everything();
}

void AfpClient::begin_end() {
  if (std::exchange(ending_, true)) return;
  if (is_ready()) log_out();
}

void AfpClient::end_everything() {
  ending_ = true;
  channel_.reset();  // ends a handshake or logout that is not finished
}

void AfpClient::add_figures(ClientFigures* figures) const {
  const uint64_t connections = channel_.connections();
  figures->reconnects = connections ? connections - 1 : 0;
  figures->lost_leases = session_ ? session_ - 1 : 0;
  figures->is_down = !is_ready();
}

// Logs out and closes the session, because a server keeps the session of a client that only disconnects.
Detached AfpClient::log_out() {
  Rpc& rpc = request(nullptr, Command::logout);
  rpc.out().u8(0);
  const Reply& reply = co_await send(rpc);
  if (!reply.error) {
    send_control(Dsi::close_session);
    channel_.poll(settings.clock->now(), -1);
  }
  logged_out_ = true;
}

Detached AfpClient::shake_hands(bool* done) {
  shaking_ = true;
  ready_ = false;
  shake_error_ = co_await establish();
  shaking_ = false;
  if (!shake_error_) {
    ready_ = true;
    generation_ = channel_.connections();
    next_tickle_ = settings.clock->now();
  }
  if (done) *done = true;
  parked_.wake();
}

Task AfpClient::ready(OpCall& call) {
  if (call.cancelled) co_return ECANCELED;
  if (is_ready()) co_return 0;
  if (!call.until) call.until = settings.clock->now() + settings.timeout;
  if (!shaking_) shake_hands(nullptr);
  if (shaking_) co_await parked_.wait(call);
  if (call.cancelled) co_return ECANCELED;
  if (settings.clock->now() >= call.until) co_return ETIMEDOUT;
  co_return is_ready() ? 0 : shake_error_ ? shake_error_ : ENOTCONN;
}

Task AfpClient::establish() {
  Rpc& open = request(nullptr, Command::none, true, Dsi::open_session);
  open.out().u8(kAttentionQuantumOption).u8(4).u32(kAttentionQuantum);
  const Reply& reply = co_await send(open);
  if (reply.error) {
    problem_ = reply.error == ETIMEDOUT ? "no reply to DSIOpenSession"
                                        : "server refused DSIOpenSession or sent a malformed reply: no AFP server?";
    co_return reply.error;
  }
  if (reply.quantum && reply.quantum < kLeastQuantum) {
    problem_ = "server takes messages of only " + std::to_string(reply.quantum) + " bytes";
    co_return EPROTO;
  }
  quantum_ = std::min(reply.quantum ? reply.quantum : kLeastQuantum, kMostQuantum);
  step_ = SetupError::Step::login;
  if (int error = co_await log_in()) co_return error;
  bool resumed = false;
  if (int error = co_await go_on_with_old_session(&resumed)) co_return error;
  if (resumed) co_return 0;
  ++session_;
  step_ = SetupError::Step::volume;
  if (int error = co_await open_volume()) co_return error;
  if (int error = co_await find_root()) co_return error;
  co_return co_await get_token();
}

// --- login ---

Task AfpClient::log_in() {
  Rpc& rpc = request(nullptr, Command::login);
  Encoder out = rpc.out();
  out.pascal(version_name(settings.version)).pascal(uam_name(settings.uam));
  if (settings.uam != Uam::guest) out.pascal(settings.user).even();
  if (settings.uam == Uam::clear_text) {
    const size_t size = std::min(settings.password.size(), kPasswordField);
    out.bytes(settings.password.substr(0, size)).zeros(kPasswordField - size);
  }
  const Reply& reply = co_await send(rpc);
  int error = reply.error;
  int32_t result = reply.result;
  if (!error && result == kAuthContinue) {
    error = EPROTO;
    if (settings.uam == Uam::dhx2) error = co_await log_in_dhx2();
    result = reply_.result;
  }
  if (!error) co_return 0;
  if (!problem_.empty()) co_return error;
  const std::string who = settings.uam == Uam::guest ? "guests" : "user '" + settings.user + "'";
  if (result == kUserNotAuthenticated || result == -5000 || result == -5019)
    problem_ = "server refuses " + who + (settings.uam == Uam::guest ? "" : ": no such user or a wrong password");
  else if (result == kBadVersion)
    problem_ = std::string("server refuses AFP ") + version_number(settings.version);
  else
    problem_ = "login of " + who + " by " + uam_name(settings.uam) +
               " failed: " + (result < 0 ? "AFP error " + std::to_string(result) : std::string(strerror(error)));
  co_return error;
}

Task AfpClient::log_in_dhx2() {
  Dhx2 exchange(settings.password);
  while (reply_.result == kAuthContinue) {
    const std::string answer = exchange.answer(reply_.data);
    if (answer.empty()) {
      problem_ = "server sent a malformed DHX2 message";
      co_return EPROTO;
    }
    Rpc& rpc = request(nullptr, Command::login_cont);
    rpc.out().u8(0).bytes(answer);
    const Reply& reply = co_await send(rpc);
    if (reply.error) co_return reply.error;
  }
  co_return 0;
}

// --- sessions ---

// Asks the server to resume the old session. Tried once, because a server that does not know the session takes some seconds to
// reply.
Task AfpClient::go_on_with_old_session(bool* resumed) {
  if (token_.empty()) co_return 0;
  const std::string token = std::exchange(token_, std::string());
  Rpc& rpc = request(nullptr, Command::disconnect_old_session);
  rpc.out().u8(0).u16(kReconnect).u32(uint32_t(token.size())).bytes(token);
  const Reply& reply = co_await send(rpc);
  if (reply.error && reply.result == kOk) co_return reply.error;  // error of the connection
  if (reply.error) co_return 0;
  token_ = token;
  *resumed = true;
  ++counters.resumed;
  co_return 0;
}

Task AfpClient::get_token() {
  Rpc& rpc = request(nullptr, Command::get_session_token);
  rpc.out().u8(0).u16(kLoginWithTimeAndId).u32(uint32_t(client_id_.size())).u32(0).bytes(client_id_);
  const Reply& reply = co_await send(rpc);
  if (!reply.error) token_ = reply.data.substr(0, 1024);
  co_return reply.result == kOk ? reply.error : 0;  // the server can't resume sessions
}

// --- the volume ---

Task AfpClient::refuse_volume(int result) {
  Rpc& rpc = request(nullptr, Command::get_server_parms);
  rpc.out().u8(0);
  const Reply& reply = co_await send(rpc);
  problem_ = "server has no volume '" + settings.volume + "' for this user (AFP error " + std::to_string(result) + ")";
  for (size_t i = 0; i < reply.volumes.size(); ++i)
    problem_ += (i ? ", '" : "; server has '") + printable(reply.volumes[i]) + "'";
  co_return 0;
}

Task AfpClient::open_volume() {
  Rpc& rpc = request(nullptr, Command::open_volume);
  rpc.out().u8(0).u16(kVolumeId | kBytesFree | kBytesTotal).pascal(settings.volume).even();
  const Reply& reply = co_await send(rpc);
  const int error = reply.error;
  volume_ = reply.volume;
  free_bytes_ = reply.free_bytes;
  total_bytes_ = reply.total_bytes;
  if (error && reply.result != kOk) co_await refuse_volume(reply.result);
  co_return error;
}

Task AfpClient::find_root() {
  root_ = kRootDir;
  for (const std::string& name : settings.directory) {
    Rpc& rpc = request(nullptr, Command::get_file_dir_parms);
    rpc.out().u8(0).u16(volume_).u32(root_).u16(kNodeId).u16(kNodeId).path(to_wire_name(name));
    const Reply& reply = co_await send(rpc);
    const int error = reply.error ? reply.error : reply.parms.is_dir ? 0 : ENOTDIR;
    if (error) {
      problem_ = "'" + name + "' in volume '" + settings.volume + "': " + strerror(error);
      co_return error;
    }
    root_ = reply.parms.id;
  }
  co_return 0;
}

}  // namespace fsr::afp
