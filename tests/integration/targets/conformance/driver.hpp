// SPDX-License-Identifier: Apache-2.0
// Drives a target operation by operation, as the engine would, and waits for each outcome. For tests.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/opens_by_name.hpp"
#include "base/target.hpp"

namespace fsr {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void require(bool condition, const std::string& what) {
  if (!condition) throw Failure(what);
}

// An outcome with its own copies of what it pointed to.
struct Answer {
  int error = 0;
  uint64_t result = 0;
  Attr attr;
  std::string data;
  std::vector<std::string> names;
};

// Identities are shared by all drivers of a process, like those of a trace.
class Driver final : Completion {
 public:
  Driver(Target& target) : target_(target), session_(target.open_session()) {}

  static ObjectId new_object() { return ++last_object_; }
  static HandleId new_handle() { return ++last_handle_; }

  // False: the target can't express it. Noted, and printed at the end.
  bool can(const Op& op) {
    if (target_.fidelity(op) != Fidelity::impossible) return true;
    impossible.insert(op_name(op.kind));
    return false;
  }

  bool exact(const Op& op) const { return target_.fidelity(op) == Fidelity::exact; }

  Answer perform(const Op& op, std::string_view payload = {}) {
    Pending pending(op, payload);
    start(pending);
    return wait(pending);
  }

  bool opens_by_name() const {
    const auto* target = dynamic_cast<const OpensByName*>(&target_);
    return target && target->opens_by_name();
  }

  // One operation under way; its Op's strings must outlive it.
  struct Pending {
    Pending(const Op& o, std::string_view payload) : op(o) {
      request.op = &op;
      request.payload = payload;
      request.want_data = true;
      request.owner = this;
    }
    Pending(const Pending&) = delete;
    Op op;
    TargetRequest request;
    Answer answer;
    bool done = false;
  };
  void start(Pending& pending) {
    for (;;) {
      switch (session_->submit(pending.request)) {
        case Submit::completed:
          completed(pending.request);
          return;
        case Submit::queued:
          return;
        case Submit::busy:
          session_->poll(INT64_MAX, -1, *this);
      }
    }
  }
  // Waits longer than a target does for its server (60 s), so that the target's own error says what was missing.
  Answer wait(Pending& pending, int64_t timeout = 150'000'000'000) {
    int64_t deadline = clock.now() + timeout;
    while (!pending.done) {
      session_->poll(deadline, -1, *this);
      if (pending.done || clock.now() < deadline) continue;
      // The session still refers to `pending`, which can't go before it.
      fmt::print("not ok - {}: no answer\n", op_name(pending.op.kind));
      for (const auto& [name, count] : target_.counters()) fmt::print("# {} {}\n", name, count);
      fflush(stdout);
      _Exit(1);
    }
    return pending.answer;
  }
  void poll_once(int64_t timeout) { session_->poll(clock.now() + timeout, -1, *this); }

  static inline MonotonicClock clock;
  std::set<std::string> impossible;

 private:
  void completed(TargetRequest& request) override {
    auto* pending = static_cast<Pending*>(request.owner);
    const Outcome& o = request.outcome;
    pending->answer = {o.error, o.result, o.attr, std::string(o.data), {}};
    for (const DirEntry& e : o.entries) pending->answer.names.emplace_back(e.name);
    pending->done = true;
  }

  static inline std::atomic<ObjectId> last_object_ = kRootObject;
  static inline std::atomic<HandleId> last_handle_ = 0;
  Target& target_;
  std::unique_ptr<TargetSession> session_;
};

}  // namespace fsr
