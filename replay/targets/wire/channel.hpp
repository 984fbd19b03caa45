// SPDX-License-Identifier: Apache-2.0
// One connection on which requests are pipelined, and the connections that replace it when it breaks.
//
// Belongs to one thread. Only poll() blocks. send() only queues; poll() sends what is queued, receives, and calls back. Call
// backs come from poll() alone, and may send().
//
// When the connection breaks, the channel connects again as soon as there is something to send, and of the requests under way
//   - those of which no byte was sent are sent;
//   - idempotent ones are sent again, at most kMaxSendings times in all, and counted;
//   - the others fail with ECONNRESET and are counted: whether the server performed them can't be known.
// A request has one deadline, sendings and connecting included. One that misses it fails with ETIMEDOUT and takes the connection
// down: on no protocol is it sure that a late reply does no harm. A server that stays unreachable for `give_up` fails everything
// that is sent until a connection succeeds; attempts go on once a second. A malformed message takes the connection down.
//
// Where requests only mean something on the connection they were made for (ChannelOptions::stateful), none outlives it: those of
// which a byte was sent fail with ECONNRESET, the others with ENOTCONN.
#pragma once

#include <errno.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "targets/wire/address.hpp"
#include "targets/wire/exchange.hpp"
#include "targets/wire/message_reader.hpp"
#include "targets/wire/tag_table.hpp"

namespace fsr {
class Clock;
}

namespace fsr::wire {

// Shared by the channels of a target.
struct ChannelCounters {
  std::atomic<uint64_t> reconnects{0};   // connections made after the first
  std::atomic<uint64_t> resent{0};       // idempotent requests sent again
  std::atomic<uint64_t> broken{0};       // requests that failed since their connection broke
  std::atomic<uint64_t> timeouts{0};     // requests that missed their deadline
  std::atomic<uint64_t> unreachable{0};  // requests that failed since no connection could be made
  std::atomic<uint64_t> malformed{0};    // messages that could not be understood
  std::atomic<uint64_t> unexpected{0};   // replies to no request
};

// Receives messages that a server sends without a request.
class Listener {
 public:
  virtual void heard(std::span<const uint8_t> message) = 0;  // from poll(); may send()

 protected:
  ~Listener() = default;
};

struct ChannelOptions {
  size_t max_message = 0;                    // bytes, without framing
  unsigned depth = 64;                       // requests under way
  int64_t request_timeout = 60'000'000'000;  // ns
  int64_t connect_timeout = 5'000'000'000;   // ns, of one attempt
  int64_t give_up = 10'000'000'000;          // ns without a connection
  bool lazy = false;                         // connects when there is something to send
  bool stateful = false;                     // requests refer to what was said on the same connection
};

class Channel {
 public:
  static constexpr unsigned kMaxSendings = 4;
  static constexpr int64_t kPatience = 400'000;  // ns

  // Connects; throws std::runtime_error, one line, if no address answers.
  Channel(std::vector<Address> addresses, const Protocol& protocol, const ChannelOptions& options, Clock& clock,
          ChannelCounters& counters);
  ~Channel();  // forgets what is under way, without call backs
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  bool full() const { return tags_.full(); }
  // Gives the exchange its tag, for its encoder. Not when full. send() must follow.
  void open(Exchange& x) { tags_.add(&x); }
  void open(Exchange& x, uint32_t fixed_tag) { tags_.add_fixed(&x, fixed_tag); }  // never full; one at a time
  void send(Exchange& x);
  void set_listener(Listener* listener) { listener_ = listener; }  // for Protocol::unasked() messages

  enum class Woken { no, yes };
  // Sends what is queued and handles what has arrived; if that is nothing, waits for something, for `wake` (an eventfd, -1 =
  // none; it is not read) or for `deadline` (on the clock, ns). Yes: `wake` was readable.
  Woken poll(int64_t deadline, int wake);

  // Speed is all that counts: where many requests are under way, poll() waits until several replies are there, but never longer
  // than kPatience for those behind the first. Waking up for each would cost more than handling it.
  void prefer_throughput() { patient_ = true; }

  // From within a call back: the reply was not what the protocol says. The connection will be replaced.
  void reject();

  // For protocols that can withdraw a request, and for those that wait for several channels or threads:
  bool up() const { return state_ == State::connected; }
  uint64_t connections() const { return connections_; }  // made so far
  uint64_t sockets() const { return sockets_; }          // likewise, those that did not connect included
  bool called_back() const { return called_back_; }      // in the last poll()
  // No reply to this request, which was sent, will come: it is under way no longer, without a call back.
  void forget(Exchange& x);
  // Ends the connection as if it had broken.
  void reset() { drop(ECONNRESET); }
  struct Interest {
    int socket;        // -1: none
    short events;      // of poll(2)
    int64_t deadline;  // ns; poll() has something to do then at the latest
  };
  Interest interest(int64_t deadline) const;

 private:
  enum class State { idle, connecting, connected };

  void start_connect(int64_t now);
  void connect_failed(int error, int64_t now);
  void check_connect(int64_t now);
  void connected();
  void close_socket();
  void drop(int error);
  void fail_all(int error, std::atomic<uint64_t>& counter);
  void fail(ExchangeList& list, int error, std::atomic<uint64_t>& counter);
  void expire(int64_t now);
  void flush();
  size_t gather(struct iovec* vectors, size_t room) const;
  void account_sent(size_t bytes);
  enum class Wait { no, yes };
  bool receive(Wait wait);
  size_t unwanted();
  bool dispatch();
  unsigned replies_together() const;
  void learn_together(bool in_time, uint64_t came);
  void wake_at(size_t bytes);
  int64_t next_event(int64_t deadline) const;

  const std::vector<Address> addresses_;
  const Protocol& protocol_;
  const ChannelOptions options_;
  Clock& clock_;
  ChannelCounters& counters_;

  State state_ = State::idle;
  int socket_ = -1;
  size_t address_ = 0;  // of addresses_, in use or tried next
  int64_t connect_deadline_ = 0;
  int64_t retry_at_ = 0;    // not before this, when idle
  int64_t down_since_ = 0;  // first failure since the last connection, 0 = none
  bool gave_up_ = false;
  int last_error_ = 0;
  uint64_t connections_ = 0, sockets_ = 0;
  bool can_wait_in_receive_ = false;  // for kReceiveFor
  bool blocked_ = false;              // the socket takes no more for now
  bool rejected_ = false;
  bool heard_ = false;        // a message came on this connection
  bool called_back_ = false;  // during this poll()

  bool patient_ = false;
  unsigned together_ = 1;  // replies waited for
  unsigned rest_ = 0;      // waits until more are waited for
  size_t reply_size_ = 0;  // bytes, in the mean of late
  uint64_t replies_ = 0;   // so far
  int wakes_at_ = 1;       // bytes received that make the socket readable

  Listener* listener_ = nullptr;
  TagTable tags_;
  MessageReader reader_;
  ExchangeList under_way_;      // in the order sent
  Exchange* unsent_ = nullptr;  // of under_way_: the first that is not wholly sent
  size_t sent_of_unsent_ = 0;   // bytes
};

}  // namespace fsr::wire
