// SPDX-License-Identifier: Apache-2.0
// Sessions that share one connection, for protocols whose state (open files, locks, fids) belongs to a connection or to a client
// as a whole, as all processes of a host share a mount. Everything of the connection happens under its mutex, which a session
// holds while it submits and while it handles replies, never while it waits.
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

// One operation under way. Protocols derive theirs.
struct SharedCall {
  virtual ~SharedCall() = default;
  Request* request = nullptr;
  bool submitting = false, finished = true;
  bool cancelled = false;  // its session ends: it makes no further request, and ends
  int64_t until = 0;       // ns: when it has waited too long for an answer; 0 = waits for none

  std::string buffer;  // what the outcome's data refers to, or the names of a listing

  const Op& op() const { return *request->op; }
  void auxiliary() { ++request->outcome.auxiliary; }

  // The answer to a readdir.
  void begin_listing();
  void list(std::string_view name, uint64_t ino, uint32_t type);
  size_t listed() const { return entries_.size(); }
  void end_listing();

 private:
  std::vector<uint32_t> name_sizes_;
  std::vector<DirEntry> entries_;
};

// Whether that is why a request failed: it may have been performed (ECONNRESET), or there was nowhere to send it (ENOTCONN).
inline bool connection_broke(int error) { return error == ECONNRESET || error == ENOTCONN; }

// All but the constructor under `mutex`.
class SharedConnection {
 public:
  virtual ~SharedConnection() = default;
  std::mutex mutex;

  virtual Clock& clock() const = 0;
  // Sends and receives what there is, ends what is late, wakes what has waited long enough.
  virtual void advance(int64_t now) = 0;
  // When and for what advance() must be called; at `deadline` at the latest.
  virtual wire::Channel::Interest interest(int64_t deadline) = 0;
  virtual uint64_t generation() const = 0;  // changes with the socket
  // The calls of a session that ends are finished when this returns.
  virtual void cancel(const std::vector<SharedCall*>& calls) = 0;

 private:
  friend class SharedSession;
  std::vector<SharedSession*> sessions_;
};

// The operations of one thread.
class SharedSession : public Session {
 public:
  static constexpr unsigned kMostCalls = 128;

  Submit submit(Request& request) final;
  void poll(int64_t deadline, int wake, Completion& sink) final;

 protected:
  explicit SharedSession(SharedConnection& connection);
  ~SharedSession() override;  // end() has been called
  // Ends the operations under way: by the destructor of the most derived class, while what they use is there.
  void end();
  virtual std::unique_ptr<SharedCall> make_call() = 0;
  // Begins an operation; finish() ends it, now or later.
  virtual void begin(SharedCall& call) = 0;
  void finish(SharedCall& call, int error);

 private:
  void hand_over();

  SharedConnection& connection_;
  // Under the connection's mutex:
  std::vector<std::unique_ptr<SharedCall>> calls_;
  std::vector<SharedCall*> free_calls_, done_;
  bool polling_ = false;  // this session's thread handles replies now
  bool waiting_ = false;  // it waits, for waits_
  wire::Channel::Interest waits_{};
  // The thread's own:
  std::vector<SharedCall*> delivering_;
  EventFd event_;
};

}  // namespace fsr
