// SPDX-License-Identifier: Apache-2.0
// Sessions that share one connection, as all processes of a host share a mount. They serve protocols whose state (open files,
// locks, fids) belongs to a connection or to the client as a whole. A session holds the connection's mutex while it submits and
// while it handles replies, never while it waits.
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/target.hpp"
#include "base/task.hpp"
#include "targets/wait.hpp"
#include "targets/wire/channel.hpp"

namespace fsr {

class SharedSession;

// One operation in flight. Protocols derive their own type from it.
struct SharedCall {
  virtual ~SharedCall() = default;
  TargetRequest* request = nullptr;
  bool submitting = false, finished = true;
  bool cancelled = false;      // its session ends: the call makes no further request, and ends
  int64_t until = 0;           // time in ns at which its wait for a reply ends; 0: it does not wait for one
  uint32_t client_number = 0;  // of the client that performs it
  int64_t started = 0;         // ns; only if there are several clients

  std::string buffer;  // the memory that the outcome's data refers to, or the names of a listing

  const Op& op() const { return *request->op; }
  void auxiliary() { ++request->outcome.auxiliary; }

  // Builds the outcome of a readdir: begin, then list() for each entry, then end.
  void begin_listing();
  void list(std::string_view name, uint64_t ino, uint32_t type);
  size_t listed() const { return entries_.size(); }
  void end_listing();

 private:
  std::vector<uint32_t> name_sizes_;
  std::vector<DirEntry> entries_;
};

// True: a request failed because the connection broke. ECONNRESET: the server may have performed the request. ENOTCONN: it was
// not sent.
inline bool connection_broke(int error) { return error == ECONNRESET || error == ENOTCONN; }

// The connection of one or more sessions. All its functions except the constructor are called under `mutex`.
class SharedConnection {
 public:
  virtual ~SharedConnection() = default;
  std::mutex mutex;

  virtual Clock& clock() const = 0;
  // Sends and receives as much as possible without waiting, ends requests that are late, and wakes waits that are over.
  virtual void advance(int64_t now) = 0;
  // Returns the time and the events of the socket at which advance() must be called next. The time is `deadline` at the latest.
  virtual wire::Channel::Interest interest(int64_t deadline) = 0;
  virtual uint64_t generation() const = 0;  // changes whenever the socket is replaced
  // Ends the calls of a session that is being destroyed; all are finished when this returns.
  virtual void cancel(const std::vector<SharedCall*>& calls) = 0;
  // Chooses the client of a call.
  virtual void deal(SharedCall&) {}
  virtual void ended(const SharedCall&) {}                    // its outcome is known
  virtual unsigned most_calls() const { return kMostCalls; }  // in flight on one session

 protected:
  static constexpr unsigned kMostCalls = 128;

 private:
  friend class SharedSession;
  std::vector<SharedSession*> sessions_;
};

// A session that performs the operations of one thread.
class SharedSession : public TargetSession {
 public:
  Submit submit(TargetRequest& request) final;
  void poll(int64_t deadline, int wake, Completion& sink) final;

 protected:
  explicit SharedSession(SharedConnection& connection);
  ~SharedSession() override;  // end() has been called
  // Ends the operations in flight. The destructor of the most derived class calls it while the members that they use still exist.
  void end();
  virtual std::unique_ptr<SharedCall> make_call() = 0;
  // Begins an operation. finish() ends it, during the call or later.
  virtual void begin(SharedCall& call) = 0;
  void finish(SharedCall& call, int error);

 private:
  void hand_over();

  SharedConnection& connection_;
  // Protected by the connection's mutex:
  std::vector<std::unique_ptr<SharedCall>> calls_;
  std::vector<SharedCall*> free_calls_, done_;
  bool polling_ = false;  // this session's thread is handling replies
  bool waiting_ = false;  // this session's thread waits for waits_
  wire::Channel::Interest waits_{};
  // Used by the session's thread only:
  std::vector<SharedCall*> delivering_;
  EventFd event_;
};

}  // namespace fsr
