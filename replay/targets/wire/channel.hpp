// SPDX-License-Identifier: Apache-2.0
// A connection on which requests are pipelined. If it breaks, the channel replaces it by a new one.
//
// Used by one thread. Only poll() blocks. send() puts a request into a queue; poll() sends the queue, receives, and calls back.
// Call backs come only from poll(), and may call send().
//
// After a break, the channel connects again when there are requests to send. Requests in flight are treated as follows:
//   - if no byte was sent: sent;
//   - if idempotent: sent again, at most kMaxSendings times in all, and counted;
//   - all others: fail with ECONNRESET and are counted, because the server may or may not have performed them.
// A request has one deadline, which includes all sendings and reconnects. If a request misses it, the request fails with
// ETIMEDOUT and the connection is closed, because a late reply might do harm. If a server is unreachable for the time of a
// request, the channel gives it up until a connection succeeds. Requests then fail with the error of the latest attempt, which is
// at most kLastingError old. A malformed message closes the connection.
//
// With ChannelOptions::security, a connection is one when its secure stream is set up, which is part of an attempt to connect.
//
// Stateful requests (ChannelOptions::stateful) are valid only on the connection that they were made for. After a break they fail
// with ECONNRESET if a byte was sent, else with ENOTCONN.
#pragma once

#include <errno.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "targets/wire/address.hpp"
#include "targets/wire/exchange.hpp"
#include "targets/wire/message_reader.hpp"
#include "targets/wire/secure_stream.hpp"
#include "targets/wire/tag_table.hpp"

namespace fsr {
class Clock;
}

namespace fsr::wire {

// Counters that the channels of a target share.
struct ChannelCounters {
  std::atomic<uint64_t> reconnects{0};   // connections made after the first
  std::atomic<uint64_t> resent{0};       // idempotent requests sent again
  std::atomic<uint64_t> broken{0};       // requests that failed because their connection broke
  std::atomic<uint64_t> timeouts{0};     // requests that missed their deadline
  std::atomic<uint64_t> unreachable{0};  // requests that failed because no connection could be made
  std::atomic<uint64_t> malformed{0};    // messages that could not be decoded
  std::atomic<uint64_t> unexpected{0};   // replies to no request
};

// Receives messages that a server sends without a request.
class Listener {
 public:
  virtual void on_message(std::span<const uint8_t> message) = 0;  // called by poll(); may call send()

 protected:
  ~Listener() = default;
};

struct ChannelOptions {
  size_t max_message = 0;                    // bytes, without framing
  unsigned depth = 64;                       // requests in flight, at most
  int64_t request_timeout = 60'000'000'000;  // ns from send() to the reply, and without a connection until a server is given up
  int64_t connect_timeout = 5'000'000'000;   // ns of one attempt to connect; with `security`, request_timeout if longer
  bool one_attempt = false;                  // gives the server up after the first failed attempt to connect
  bool lazy = false;                         // connects only when there is a request to send
  bool frugal = false;                       // one of very many: keeps no memory for replies while there are none
  bool stateful = false;                     // requests refer to earlier ones on the same connection
  std::shared_ptr<const StreamSecurity> security;  // null: messages go straight to the socket
};

class Channel {
 public:
  static constexpr unsigned kMaxSendings = 4;
  static constexpr int64_t kLastingError = 100'000'000;  // ns that the failure of an attempt to connect counts for later requests
  static constexpr int64_t kBatchWait = 400'000;         // ns that replies wait for later ones; see prefer_throughput()

  // Connects; throws std::runtime_error, one line, if no address answers.
  Channel(std::vector<Address> addresses, const Protocol& protocol, const ChannelOptions& options, Clock& clock,
          ChannelCounters& counters);
  ~Channel();  // drops the requests in flight, without call backs
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  bool full() const { return tags_.full(); }
  // Gives the exchange its tag, for its encoder. Must not be called when full() is true. send() must follow.
  void open(Exchange& x) { tags_.add(&x); }
  void open(Exchange& x, uint32_t fixed_tag) { tags_.add_fixed(&x, fixed_tag); }  // for one exchange at a time, also when full
  void send(Exchange& x);
  void set_listener(Listener* listener) { listener_ = listener; }  // receives Protocol::unasked() messages

  enum class Woken { no, yes };
  // Sends queued requests and handles received messages. If there are none, waits for a message, `wake` or `deadline`. `wake`: an
  // eventfd, which is not read; -1: none. `deadline`: ns, on the clock. Yes: `wake` is readable.
  Woken poll(int64_t deadline, int wake);

  // Prefers throughput to short response times. If many requests are in flight, poll() waits for several replies, at most
  // kBatchWait longer. A wake-up for each reply would cost more than handling it.
  void prefer_throughput() { prefers_throughput_ = true; }

  // Called by a call back if the reply violates the protocol. The connection is then replaced.
  void reject();

  // For protocols that can withdraw a request, and for those that wait for several channels or threads:
  bool up() const { return state_ == State::connected; }
  uint64_t connections() const { return connections_; }  // connections made so far
  uint64_t sockets() const { return sockets_; }          // sockets created so far, including those that failed to connect
  bool called_back() const { return called_back_; }      // true: the last poll() called back
  // Removes a request that was sent and will have no reply. It gets no call back.
  void forget(Exchange& x);
  // Ends the connection as if it had broken.
  void reset() { drop(ECONNRESET); }
  struct Interest {
    int socket;        // -1: none
    short events;      // of poll(2)
    int64_t deadline;  // ns; poll() must be called then at the latest
  };
  Interest interest(int64_t deadline) const;

 private:
  enum class State { idle, connecting, securing, connected };

  void start_connect(int64_t now);
  void connect_failed(int error, int64_t now);
  void check_connect(int64_t now);
  void reached(int64_t now);
  void secure(int64_t now);
  void took_too_long(int64_t now);
  bool is_connecting() const { return state_ == State::connecting || state_ == State::securing; }
  bool has_more() const { return secure_ && state_ == State::connected && secure_->has_more(); }
  void connected();
  void close_socket();
  void drop(int error);
  void fail_all(int error, std::atomic<uint64_t>& counter);
  void fail(ExchangeList& list, int error, std::atomic<uint64_t>& counter);
  void expire(int64_t now);
  void flush();
  void flush_secure();
  size_t gather(struct iovec* vectors, size_t room) const;
  void account_sent(size_t bytes);
  enum class Wait { no, yes };
  bool receive(Wait wait);
  void rest();
  size_t unwanted();
  bool dispatch();
  unsigned replies_together() const;
  void learn_together(bool in_time, uint64_t came);
  void wake_at(size_t bytes);
  int64_t next_event(int64_t deadline) const;
  void log_sent(Exchange& x) const;
  void log_reply(const Exchange& x, std::span<const uint8_t> message) const;
  void log_failed(const Exchange& x, int error) const;
  void log_connection(const char* what, int error) const;

  const std::vector<Address> addresses_;
  const Protocol& protocol_;
  const ChannelOptions options_;
  Clock& clock_;
  ChannelCounters& counters_;

  State state_ = State::idle;
  int socket_ = -1;
  size_t address_ = 0;  // index in addresses_ of the one in use or tried next
  int64_t connect_deadline_ = 0;
  int64_t retry_at_ = 0;    // when idle: time of the next attempt to connect, at the earliest
  int64_t down_since_ = 0;  // time of the first failure since the last connection; 0: none
  bool gave_up_ = false;
  int last_error_ = 0;
  std::unique_ptr<SecureStream> secure_;  // null: none, or no socket
  short secure_events_ = 0;               // of poll(2), which the set-up of secure_ waits for
  std::string problem_;                   // of the last failure to connect; empty: last_error_ says all
  uint64_t connections_ = 0, sockets_ = 0;
  bool can_wait_in_receive_ = false;  // recv() may block, for kReceiveFor at most
  bool blocked_ = false;              // the socket's send buffer is full
  bool rejected_ = false;
  bool has_received_ = false;  // a message was received on this connection
  bool called_back_ = false;   // in the current or last poll()

  bool prefers_throughput_ = false;
  unsigned together_ = 1;  // replies that poll() waits for
  unsigned rest_ = 0;      // calls of poll() before together_ may grow again
  size_t reply_size_ = 0;  // bytes of a reply, moving mean
  uint64_t replies_ = 0;   // replies received so far
  int wakes_at_ = 1;       // received bytes from which on the socket is readable

  Listener* listener_ = nullptr;
  TagTable tags_;
  MessageReader reader_;
  ExchangeList under_way_;      // in the order of sending
  Exchange* unsent_ = nullptr;  // the first of under_way_ that is not completely sent
  size_t sent_of_unsent_ = 0;   // bytes of unsent_ that were sent
};

}  // namespace fsr::wire
