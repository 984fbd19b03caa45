// SPDX-License-Identifier: Apache-2.0
// Sends the calls of one client to one program with RPCSEC_GSS, version 1 (RFC 2203), and checks and opens the replies. It makes
// the security context by the procedure NULL on the client's connection, when prepare() or the first call asks for it. Calls wait
// meanwhile.
//
// A context is made anew before it expires, while calls go on with the old one. It is also made anew after the server has refused
// it (CREDPROBLEM, CTXPROBLEM), as a restarted server does. A sending that was refused so was not performed; the call is sent
// again. If no context can be made, calls fail with the errno of GssError, and problem() says why. The next attempt is made
// kPause later. As long as another context holds, it is made after a quarter of the time that is left to that, at least kPause.
//
// A call that is sent again on a new connection needs another sequence number, because the server drops numbers that it has seen.
// If the window of a context is full of unanswered calls, a further context is made, kMostContexts in all. Then calls wait.
//
// The ticket for a new context comes from the library, which may ask the KDC. The calling thread, and all others that ask for a
// context, wait meanwhile. So that time is part of the response time of the call that asks, and of those after it.
//
// Used by one thread at a time, as its channels are.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nfs/rpc.hpp"
#include "targets/rpc/gss_context.hpp"
#include "targets/wire/channel.hpp"

namespace fsr::rpc {

// Counters that the clients of a target share. Thread-safe.
class GssCounters {
 public:
  std::atomic<uint64_t> contexts{0};  // contexts made after the first of a client
  std::atomic<uint64_t> refused{0};   // calls sent again, because the server did not know the context any more
  std::atomic<uint64_t> failed{0};    // calls that failed because no context could be made, or none was accepted
  void set_problem(const std::string& line);
  // Appends the counters to those of a target, with the reason of the last failure in the name.
  void list(std::vector<std::pair<std::string, uint64_t>>* all) const;

 private:
  mutable std::mutex mutex_;
  std::string problem_;
};

// State of a request while it is sent sealed.
struct SealedCall {
  std::vector<uint8_t> plain;  // the call with AUTH_SYS, as encoded by its protocol; empty: Exchange::head is that
  std::string_view payload;    // Exchange::payload and padding of the plain call
  uint8_t padding = 0;
  std::shared_ptr<GssContext> context;
  uint32_t sequence = 0;
  unsigned refusals = 0;  // times that the server refused the context
  bool refused = false;   // it did, and the call was not sent again yet
};

class GssClient {
 public:
  static constexpr int64_t kPause = 1'000'000'000;  // ns from a failure to the next attempt
  static constexpr size_t kMostContexts = 16;

  // `null`: the procedure NULL of the program. `timeout`: ns in which a context must be made.
  GssClient(const Security& security, const nfs::Procedure& null, int64_t timeout, Clock& clock, GssCounters& counters);

  // Makes the first context before any call, so that no call waits for it. False: there is none, and problem() says why. Empty:
  // the user has ended the program.
  bool prepare(wire::Channel& channel);
  // Sends a plain call on the channel, at once or when there is a context. The exchange must not have a tag yet.
  void send(wire::Channel& channel, wire::Exchange& x, SealedCall& call);
  // Seals a call anew that the channel sends again on a new connection.
  void seal_again(wire::Exchange& x, SealedCall& call);
  // Withdraws a call that waits for a context. False: it does not wait.
  bool withdraw(const wire::Exchange& x);
  // Called for a call that ends without a reply.
  void ended(SealedCall& call);

  enum class Opened {
    plain,       // *message is the plain reply, which is valid until the next call of open()
    sent_again,  // the server refused the context, and the call was taken back
    forged       // the reply is malformed, or not the server's
  };
  // Handles the reply to a sealed call. `x` becomes the plain call again.
  Opened open(wire::Channel& channel, wire::Exchange& x, SealedCall& call, std::span<const uint8_t>* message);

  // Tells the server that the contexts are no longer needed. The channel must be polled once more. The next call begins anew.
  void end(wire::Channel& channel);
  const std::string& problem() const {
    return problem_;
  }  // why there is no context, or the server refuses it; empty: it does not

 private:
  // A request of its own, on the procedure NULL.
  struct Control final : wire::Exchange {
    GssClient* client = nullptr;  // null: the reply is of no interest
    wire::Channel* channel = nullptr;
    bool gone = false;  // used without a client: it was sent, or can't be
    void replied(std::span<const uint8_t> message) override;
    void failed(int error) override;
  };
  struct Waiting {
    wire::Channel* channel;
    wire::Exchange* x;
    SealedCall* call;
  };

  using Context = std::shared_ptr<GssContext>;
  Context with_room(int64_t now);
  void forget(const Context& context) { std::erase(contexts_, context); }
  std::vector<uint8_t> null_head() const;
  void begin_context(wire::Channel& channel, int64_t until);
  void send_token(wire::Channel& channel, std::string_view token);
  void token_came(std::span<const uint8_t> message);
  void established(int64_t now);
  void control_failed(int error);
  void give_up(const std::string& why, int error);
  void pause(int error);
  void count_failure();
  void send_waiting();
  void release(SealedCall& call);
  void fail_waiting(int error);
  // Writes the call up to its arguments. False: the context has expired.
  bool put_head(std::vector<uint8_t>* out, std::span<const uint8_t> head, uint32_t xid, uint32_t procedure, GssContext& context,
                uint32_t sequence);
  bool seal(wire::Exchange& x, SealedCall& call);
  bool open_results(const SealedCall& call, std::span<const uint8_t>* message, size_t results);

  const Security security_;
  const nfs::Procedure null_;
  const int64_t timeout_;
  Clock& clock_;
  GssCounters& counters_;
  std::vector<Context> contexts_;  // the first with room is used
  Context next_;                   // the one that is being made
  Context replaced_;               // the one that it replaces; null: none
  Control control_;
  std::list<Control> farewells_;
  int64_t until_ = 0;         // ns: time until which next_ must be made
  int64_t failed_until_ = 0;  // ns: time before which no further attempt is made while there is no context
  int64_t beside_until_ = 0;  // ns: the same while there is one
  int failure_ = 0;           // errno of the last
  bool begun_ = false;        // a context was made since the last end()
  std::string problem_;
  std::deque<Waiting> waiting_;
  std::vector<uint8_t> opened_;  // the last plain reply
};

}  // namespace fsr::rpc
