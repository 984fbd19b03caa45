// SPDX-License-Identifier: Apache-2.0
#include "targets/wire/channel.hpp"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>

#include "base/clock.hpp"
#include "util/check.hpp"
#include "util/debug_log.hpp"

namespace fsr::wire {

namespace {

constexpr int64_t kFirstRetry = 20'000'000, kLastRetry = 1'000'000'000;  // ns between attempts to connect
constexpr size_t kVectors = 128;                                         // parts of one sendmsg
constexpr size_t kSendTogether = 2 << 20;                                // bytes of one sendmsg
constexpr unsigned kReceivesPerPoll = 8;                                 // limited, so that deadlines are checked under load
constexpr size_t kReceiveTogether = 1 << 20;                             // bytes that one wait collects at most
constexpr size_t kWorthDropping = 64 * 1024;                             // bytes from which on unwanted content is discarded
constexpr size_t kGlance = 4096;                                         // bytes of a long message that are read to identify it
constexpr unsigned kWaitsOfRest = 32;                                    // value of rest_ after a wait that was too long
constexpr int64_t kReceiveFor = 50'000'000;                              // ns that a blocking recv() waits for the server
const uint8_t kZeros[8] = {};

}  // namespace

Channel::Channel(std::vector<Address> addresses, const Protocol& protocol, const ChannelOptions& options, Clock& clock,
                 ChannelCounters& counters)
    : addresses_(std::move(addresses)),
      protocol_(protocol),
      options_(options),
      clock_(clock),
      counters_(counters),
      tags_(options.depth, protocol.tag_bits(), std::random_device{}()),
      reader_(protocol, options.max_message) {
  if (options.lazy) return;
  std::string refusal;  // the first, because other addresses of the server may just not be reachable
  for (size_t tried = 0; tried < addresses_.size(); ++tried) {
    start_connect(clock_.now());
    const int64_t begun = clock_.now();
    while (is_connecting() && !clock_.given_up(begun)) poll(clock_.look_again(connect_deadline_), -1);
    if (state_ == State::connected) return;
    if (is_connecting()) {
      close_socket();
      throw std::runtime_error("interrupted");
    }
    if (refusal.empty()) refusal = problem_;
  }
  throw std::runtime_error(refusal.empty() ? strerror(last_error_) : refusal);
}

Channel::~Channel() { close_socket(); }

void Channel::send(Exchange& x) {
  FSR_CHECK(tags_.find(x.tag()) == &x, "a request without its tag is sent");
  FSR_CHECK(!x.head.empty(), "a request is empty");
  x.deadline_ = clock_.now() + options_.request_timeout;
  if (x.until) x.deadline_ = std::min(x.deadline_, x.until);
  if (const Exchange* last = under_way_.back()) x.deadline_ = std::max(x.deadline_, last->deadline_);
  x.sendings_ = 0;
  under_way_.push_back(&x);
  if (!unsent_) {
    unsent_ = &x;
    sent_of_unsent_ = 0;
  }
}

void Channel::reject() {
  ++counters_.malformed;
  log_connection("rejected a reply", 0);
  rejected_ = true;
}

void Channel::start_connect(int64_t now) {
  const Address& address = addresses_[address_];
  connect_deadline_ = now + options_.connect_timeout;
  problem_.clear();
  socket_ = start_connection(address, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket_ < 0) return connect_failed(errno, now);
  const bool at_once = errno == 0;
  ++sockets_;
  int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  const timeval receive_for = {0, kReceiveFor / 1000};
  can_wait_in_receive_ = setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &receive_for, sizeof receive_for) == 0;
  if (at_once) return reached(now);
  state_ = State::connecting;
}

void Channel::check_connect(int64_t now) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size) < 0) error = errno;
  if (error)
    connect_failed(error, now);
  else
    reached(now);
}

void Channel::reached(int64_t now) {
  if (!options_.security) return connected();
  secure_ = options_.security->begin(socket_);
  // Requests that wait for a connection made anew need some of their time for another attempt.
  const int64_t most = connections_ ? options_.request_timeout / 4 : options_.request_timeout;
  connect_deadline_ = now + std::max(options_.connect_timeout, most);
  state_ = State::securing;
  secure(now);
}

void Channel::secure(int64_t now) {
  switch (secure_->set_up()) {
    case SecureStream::Progress::wants_to_receive:
      secure_events_ = POLLIN;
      break;
    case SecureStream::Progress::wants_to_send:
      secure_events_ = POLLOUT;
      break;
    case SecureStream::Progress::ready:
      connected();
      break;
    case SecureStream::Progress::failed:
      connect_failed(secure_->error(), now);
      break;
  }
}

void Channel::took_too_long(int64_t now) {
  if (!is_connecting() || now < connect_deadline_) return;
  if (secure_) secure_->took_too_long();
  connect_failed(ETIMEDOUT, now);
}

void Channel::connected() {
  state_ = State::connected;
  if (secure_) can_wait_in_receive_ = false;
  if (can_wait_in_receive_) can_wait_in_receive_ = fcntl(socket_, F_SETFL, 0) == 0;  // other calls use MSG_DONTWAIT
  if (connections_++ > 0) ++counters_.reconnects;
  log_connection("connected", 0);
  down_since_ = 0;
  gave_up_ = false;
  blocked_ = has_received_ = false;
  wakes_at_ = 1;
  reader_.reset();
}

void Channel::connect_failed(int error, int64_t now) {
  log_connection("could not connect", error);
  const bool refused = secure_ && secure_->is_refused();
  if (secure_) problem_ = secure_->problem();
  close_socket();
  last_error_ = error;
  address_ = (address_ + 1) % addresses_.size();
  if (down_since_ == 0) down_since_ = now;
  const int64_t down = now - down_since_;
  if (options_.one_attempt || refused || down >= options_.request_timeout) gave_up_ = true;
  retry_at_ = now + (gave_up_ ? kLastingError : std::clamp(down, kFirstRetry, kLastRetry));
  if (gave_up_) fail_all(error, counters_.unreachable);
}

void Channel::close_socket() {
  secure_.reset();
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
  state_ = State::idle;
}

// Closes a broken connection and handles its requests as the head of channel.hpp says.
void Channel::drop(int error) {
  if (socket_ >= 0) log_connection("broke", error);
  close_socket();
  last_error_ = error;
  rejected_ = false;
  retry_at_ = has_received_ ? 0 : clock_.now() + kFirstRetry;  // no tight loop if a server only accepts and closes
  ExchangeList old = under_way_, failed, unsent;
  under_way_ = ExchangeList();
  unsent_ = nullptr;
  sent_of_unsent_ = 0;
  while (Exchange* x = old.front()) {
    old.remove(x);
    if (!options_.stateful && (x->sendings_ == 0 || (x->idempotent && x->sendings_ < kMaxSendings))) {
      if (x->sendings_ > 0) x->sent_again();
      under_way_.push_back(x);
      if (!unsent_) unsent_ = x;
    } else {
      tags_.remove(x);
      (x->sendings_ == 0 ? unsent : failed).push_back(x);
    }
  }
  fail(failed, ECONNRESET, counters_.broken);
  fail(unsent, ENOTCONN, counters_.broken);
}

void Channel::fail(ExchangeList& list, int error, std::atomic<uint64_t>& counter) {
  while (Exchange* x = list.front()) {
    list.remove(x);
    ++counter;
    called_back_ = true;
    log_failed(*x, error);
    x->failed(error);
  }
}

void Channel::fail_all(int error, std::atomic<uint64_t>& counter) {
  ExchangeList old = under_way_;
  under_way_ = ExchangeList();
  unsent_ = nullptr;
  for (Exchange* x = old.front(); x; x = ExchangeList::after(x)) tags_.remove(x);
  fail(old, error, counter);
}

// Fails the requests whose deadline has passed. Checks only the front, because deadlines are in the order of sending.
void Channel::expire(int64_t now) {
  Exchange* late = under_way_.front();
  if (!late || late->deadline_ > now) return;
  const bool away = state_ != State::connected && down_since_ != 0;
  ExchangeList expired, unsent;
  while ((late = under_way_.front()) && late->deadline_ <= now) {
    under_way_.remove(late);
    tags_.remove(late);
    (away && late->sendings_ == 0 ? unsent : expired).push_back(late);
  }
  // While connected, the late request may be unanswered or sent in part, so the connection is dropped. Otherwise it only leaves
  // the queue.
  if (state_ == State::connected)
    drop(ETIMEDOUT);
  else
    unsent_ = under_way_.front();
  fail(expired, ETIMEDOUT, counters_.timeouts);
  fail(unsent, last_error_, counters_.unreachable);
}

size_t Channel::gather(iovec* vectors, size_t room) const {
  size_t n = 0, bytes = 0, skip = sent_of_unsent_;
  auto add = [&](const void* data, size_t size) {
    size_t passed = std::min(skip, size);
    skip -= passed;
    if (passed == size) return;
    vectors[n++] = {const_cast<uint8_t*>(static_cast<const uint8_t*>(data)) + passed, size - passed};
    bytes += size - passed;
  };
  for (const Exchange* x = unsent_; x && n + 3 <= room && bytes < kSendTogether; x = ExchangeList::after(x)) {
    add(x->head.data(), x->head.size());
    add(x->payload.data(), x->payload.size());
    add(kZeros, x->padding);
  }
  return n;
}

void Channel::account_sent(size_t bytes) {
  while (unsent_ && bytes > 0) {
    if (sent_of_unsent_ == 0 && unsent_->sendings_++ > 0) ++counters_.resent;
    FSR_CHECK(sent_of_unsent_ < unsent_->size(),
              std::to_string(sent_of_unsent_) + " of " + std::to_string(unsent_->size()) + " bytes");
    size_t now = std::min(bytes, unsent_->size() - sent_of_unsent_);
    bytes -= now;
    sent_of_unsent_ += now;
    if (sent_of_unsent_ < unsent_->size()) return;
    Exchange* sent = unsent_;
    if (logs(LogArea::wire, LogLevel::debug)) log_sent(*sent);
    unsent_ = ExchangeList::after(unsent_);
    sent_of_unsent_ = 0;
    if (!sent->one_way) continue;
    under_way_.remove(sent);
    tags_.remove(sent);
    called_back_ = true;
    sent->replied({});
  }
}

// Sends by secure_. Bytes that it has taken count as sent.
void Channel::flush_secure() {
  while (secure_ && (unsent_ || secure_->has_unsent()) && !blocked_) {
    iovec vectors[kVectors];
    const ssize_t sent = secure_->send({vectors, gather(vectors, kVectors)});
    if (sent < 0 && errno != EAGAIN) return drop(errno);
    blocked_ = sent < 0 || secure_->has_unsent();
    if (sent > 0) account_sent(size_t(sent));
  }
}

void Channel::flush() {
  if (secure_) return flush_secure();
  while (unsent_ && !blocked_) {
    iovec vectors[kVectors];
    msghdr message{};
    message.msg_iov = vectors;
    message.msg_iovlen = gather(vectors, kVectors);
    constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
    const ssize_t sent = message.msg_iovlen == 1 ? ::send(socket_, vectors[0].iov_base, vectors[0].iov_len, kFlags)
                                                 : sendmsg(socket_, &message, kFlags);
    if (sent >= 0)
      account_sent(size_t(sent));
    else if (errno == EAGAIN)
      blocked_ = true;
    else if (errno != EINTR)
      return drop(errno);
  }
}

// Receives and handles messages. `wait`: the first recv() may block. False: it blocked, and no data came in time.
bool Channel::receive(Wait wait) {
  for (unsigned round = 0; round < kReceivesPerPoll && state_ == State::connected; ++round) {
    std::span<uint8_t> space = reader_.space();
    const size_t junk = secure_ ? 0 : unwanted();
    if (junk)
      space = space.first(junk);
    else if (!secure_ && reply_size_ >= kWorthDropping && reader_.begun().missing == 0)
      space = space.first(std::min(space.size(), kGlance));
    const bool waits = wait == Wait::yes && round == 0;
    const int flags = (junk ? MSG_TRUNC : 0) | (waits ? 0 : MSG_DONTWAIT);  // MSG_TRUNC discards the data (tcp(7))
    const ssize_t got = secure_ ? secure_->receive(space) : recv(socket_, space.data(), space.size(), flags);
    if (got < 0 && errno == EINTR && !waits) continue;
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      if (options_.frugal) rest();
      return !waits;
    }
    if (got > 0) reader_.received(size_t(got));
    const bool sound = got > 0 && dispatch();
    if (!sound) drop(got == 0 ? ECONNRESET : got < 0 ? errno : EBADMSG);
    if (!sound || size_t(got) < space.size()) break;
  }
  if (options_.frugal) rest();
  return true;
}

void Channel::rest() {
  reader_.rest();
  if (secure_) secure_->rest();
}

// Returns how many of the next bytes may be discarded, as the unwanted end of a long reply.
size_t Channel::unwanted() {
  const MessageReader::PartialMessage begun = reader_.begun();
  uint32_t tag = 0;
  if (begun.missing < kWorthDropping || !protocol_.tag_of(begun.bytes, &tag)) return 0;
  const Exchange* x = tags_.find(tag);
  return x && x->wanted <= begun.bytes.size() ? begun.missing : 0;
}

// Handles the received messages. False: the connection can't be used any more.
bool Channel::dispatch() {
  for (;;) {
    std::span<const uint8_t> message;
    MessageReader::Next next = reader_.next(&message);
    if (next == MessageReader::Next::incomplete) return true;
    if (next == MessageReader::Next::message && listener_ && protocol_.unasked(message)) {
      has_received_ = true;
      listener_->on_message(message);
      if (rejected_) return false;
      continue;
    }
    uint32_t tag = 0;
    if (next == MessageReader::Next::malformed || !protocol_.tag_of(message, &tag)) {
      ++counters_.malformed;
      return false;
    }
    Exchange* x = tags_.find(tag);
    if (!x || x->sendings_ == 0) {
      ++counters_.unexpected;
      continue;
    }
    if (x == unsent_) {  // a reply to a request that is not completely sent
      ++counters_.malformed;
      return false;
    }
    FSR_CHECK(!under_way_.empty(), "a reply came to a request that is not under way");
    under_way_.remove(x);
    tags_.remove(x);
    has_received_ = called_back_ = true;
    ++replies_;
    reply_size_ = (7 * reply_size_ + message.size()) / 8;
    if (logs(LogArea::wire, LogLevel::debug)) log_reply(*x, message);
    x->replied(message);
    if (rejected_) return false;
  }
}

int64_t Channel::next_event(int64_t deadline) const {
  if (const Exchange* first = under_way_.front()) deadline = std::min(deadline, first->deadline_);
  if (is_connecting()) deadline = std::min(deadline, connect_deadline_);
  if (state_ == State::idle && !under_way_.empty()) deadline = gave_up_ ? 0 : std::min(deadline, retry_at_);
  return deadline;
}

void Channel::forget(Exchange& x) {
  FSR_CHECK(unsent_ != &x || sent_of_unsent_ == 0, "a request is withdrawn of which a part was sent");
  if (unsent_ == &x) unsent_ = ExchangeList::after(&x);
  under_way_.remove(&x);
  tags_.remove(&x);
}

Channel::Interest Channel::interest(int64_t deadline) const {
  short events = POLLOUT;
  if (state_ == State::securing)
    events = secure_events_;
  else if (state_ != State::connecting)
    events = short(POLLIN | (blocked_ && (unsent_ || secure_) ? POLLOUT : 0));
  const bool can_send = state_ == State::connected && unsent_ && !blocked_;
  return {socket_, events, can_send || has_more() ? 0 : next_event(deadline)};
}

// Returns how many replies poll() waits for: at most half of the requests in flight, so that the server always has work.
unsigned Channel::replies_together() const {
  if (!prefers_throughput_ || blocked_ || state_ != State::connected) return 1;
  return std::clamp(tags_.used() / 2, 1u, together_);
}

// Adapts the number of replies that poll() waits for to the number that came within kBatchWait. Sometimes tries a higher number.
void Channel::learn_together(bool in_time, uint64_t came) {
  if (!in_time) {
    together_ = std::max(1u, unsigned(came));
    rest_ = kWaitsOfRest;
  } else if (rest_ > 0) {
    --rest_;
  } else if (together_ <= tags_.used() / 2) {
    together_ *= 2;
  }
}

// Makes the socket readable only when `bytes` were received.
void Channel::wake_at(size_t bytes) {
  const int wanted = int(std::clamp<size_t>(bytes, 1, kReceiveTogether));
  if (wanted == wakes_at_ || setsockopt(socket_, SOL_SOCKET, SO_RCVLOWAT, &wanted, sizeof wanted) < 0) return;
  wakes_at_ = wanted;
}

Channel::Woken Channel::poll(int64_t deadline, int wake) {
  int64_t now = clock_.now();
  called_back_ = false;
  // The caller may have been away for long, as for a request to a KDC. Replies that came meanwhile are in time.
  if (const Exchange* first = under_way_.front(); first && first->deadline_ <= now && state_ == State::connected) {
    receive(Wait::no);
    expire(now);  // requests that were late when poll() began; callbacks may take long, too
    now = clock_.now();
  } else {
    expire(now);
  }
  if (state_ == State::idle && !under_way_.empty()) {
    if (now >= retry_at_)
      start_connect(now);
    else if (gave_up_)
      fail_all(last_error_, counters_.unreachable);
  }
  if (state_ == State::connected) flush();
  if (state_ == State::connected && !blocked_ && wake < 0 && deadline <= now) {  // not to wait: only receive
    wake_at(1);
    receive(Wait::no);
    if (state_ == State::connected) flush();  // sends the requests that callbacks have made
    return Woken::no;
  }

  auto [socket, events, next] = interest(deadline);
  const unsigned together = called_back_ || next <= now ? 1 : replies_together();
  if (together > 1) next = std::min(next, now + kBatchWait);
  if (state_ == State::connected) wake_at(together > 1 ? together * reply_size_ : 1);
  if (can_wait_in_receive_ && wake < 0 && state_ == State::connected && events == POLLIN && together == 1 && !called_back_ &&
      next - now >= kReceiveFor) {  // waits only for one reply: one system call instead of two
    if (receive(Wait::yes) && state_ == State::connected) flush();
    return Woken::no;
  }
  pollfd fds[2] = {{socket, events, 0}, {wake, POLLIN, 0}};
  const int64_t wait = called_back_ || next <= now ? 0 : next - now;
  timespec timeout = {time_t(wait / 1'000'000'000), long(wait % 1'000'000'000)};
  const bool in_time = ppoll(fds, 2, &timeout, nullptr) > 0;
  const bool more = has_more();
  if (!in_time && together == 1 && !more) {
    took_too_long(clock_.now());
    return Woken::no;
  }
  if (!in_time) fds[0].revents = fds[1].revents = 0;
  if (together > 1) fds[0].revents = POLLIN;  // receive what has come
  if (more) fds[0].revents |= POLLIN;
  const uint64_t before = replies_;
  if (fds[0].revents && state_ == State::connecting) {
    check_connect(clock_.now());
  } else if (fds[0].revents && state_ == State::securing) {
    secure(clock_.now());
    took_too_long(clock_.now());  // also if the server sends something all the time
  } else if (fds[0].revents && state_ == State::connected) {
    if (fds[0].revents & POLLOUT) {
      blocked_ = false;
      flush();
    }
    if (state_ == State::connected && (fds[0].revents & (POLLIN | POLLHUP | POLLERR))) receive(Wait::no);
    if (prefers_throughput_) learn_together(in_time, replies_ - before);
    if (state_ == State::connected) flush();  // sends the requests that callbacks have made
  }
  return fds[1].revents ? Woken::yes : Woken::no;
}

}  // namespace fsr::wire
