// SPDX-License-Identifier: Apache-2.0
#include "memory_target.hpp"

#include <poll.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

#include "base/clock.hpp"
#include "clone.hpp"
#include "targets/lock_timeout.hpp"
#include "targets/lock_waiters.hpp"
#include "targets/wait.hpp"
#include "tree.hpp"

namespace fsr {
namespace {

uint64_t content_limit() {
  struct sysinfo info {};
  if (sysinfo(&info) != 0) return 1ull << 30;
  return uint64_t(info.totalram) * info.mem_unit / 2;
}

struct Shared {
  MemoryTree tree{content_limit()};
  LockNotifier lock_events;
  TargetOptions options;
};

class MemorySession final : public TargetSession {
 public:
  explicit MemorySession(std::shared_ptr<Shared> shared) : shared_(std::move(shared)), waiters_(shared_->lock_events, event_) {}

  Submit submit(TargetRequest& request) override {
    if (attempt(request)) return Submit::completed;
    waiters_.add(request, lock_until(*request.op, now()));
    return Submit::queued;
  }

  void poll(int64_t deadline, int wake, Completion& sink) override {
    pollfd fds[] = {{.fd = wake, .events = POLLIN, .revents = 0}, {.fd = event_.fd(), .events = POLLIN, .revents = 0}};
    const int64_t next = waiters_.next(INT64_MAX);
    wait_for_events(*shared_->options.clock, fds, std::min(deadline, next));
    if (!fds[1].revents && now() < next) return;
    event_.clear();
    waiters_.retry([&](TargetRequest& request, int64_t until) { return attempt(request, until); },
                   [&](TargetRequest& request) { sink.completed(request); });
  }

 private:
  int64_t now() const { return shared_->options.clock->now(); }
  // Performs a request. False: another owner holds the lock that it asks for, and the request waits until `until`.
  bool attempt(TargetRequest& request, int64_t until = INT64_MAX) {
    Credentials who = shared_->options.impersonate ? request.who : Credentials{geteuid(), getegid()};
    request.outcome = {};
    bool released = shared_->tree.perform(*request.op, request.payload, who, request.outcome, reply_);
    if (released) shared_->lock_events.released();
    if (request.outcome.error == EAGAIN && waits_for_lock(*request.op) && now() < until) return false;
    if (!request.untimed) request.outcome.completed = now();
    return true;
  }

  std::shared_ptr<Shared> shared_;
  EventFd event_;
  LockWaiters waiters_;
  MemoryTree::Reply reply_;
};

Fidelity memory_fidelity(const Op& op, bool) {
  if (op.kind == OpKind::setxattr && op.data.size() < op.length) return Fidelity::approximate;  // the value was not recorded
  if (is_clone(op)) return Fidelity::approximate;                                               // the bytes are copied
  return op.kind == OpKind::ioctl && !asks_for_terminal(op) ? Fidelity::impossible : Fidelity::exact;
}

constexpr OpMapping kMemoryMappings[] = {{"memory", memory_fidelity}};

class MemoryTarget final : public Target {
 public:
  explicit MemoryTarget(const TargetOptions& options) : shared_(std::make_shared<Shared>()) { shared_->options = options; }
  std::string name() const override { return "memory:"; }
  Fidelity fidelity(const Op& op) const override { return memory_fidelity(op, shared_->options.privileged); }
  const OpMapping* mapping() const override { return &kMemoryMappings[0]; }
  std::unique_ptr<TargetSession> open_session() override { return std::make_unique<MemorySession>(shared_); }
  Space space() override { return shared_->tree.space(); }
  bool empty() override { return shared_->tree.empty(); }

 private:
  std::shared_ptr<Shared> shared_;
};

std::unique_ptr<Target> open_memory(const std::string& url, const TargetOptions& options) {
  if (url != "memory:" && url != "memory://")
    throw std::runtime_error(url + ": expected memory: without anything after the colon");
  return std::make_unique<MemoryTarget>(options);
}

}  // namespace

const TargetPlugin memory_plugin = {"memory", "memory:  a file system inside fsreplay", open_memory, kMemoryMappings};

}  // namespace fsr
