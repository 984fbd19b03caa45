// SPDX-License-Identifier: Apache-2.0
// Converts operations to requests for byte-range locks, and waits for a lock, in version 3 as in version 4. A flock
// locks the complete file for the open instance, as on a Linux mount.
#pragma once

#include <errno.h>

#include <cstdint>

#include "base/clock.hpp"
#include "base/task.hpp"
#include "targets/lock_timeout.hpp"
#include "targets/nfs/held_locks.hpp"
#include "targets/retry_waits.hpp"

namespace fsr::nfs {

// A test, lock or unlock of bytes [start, end] of a file.
struct LockRequest {
  enum Action { test, lock, unlock } action = lock;
  LockOwner owner;
  uint64_t start = 0, end = 0;
  bool exclusive = false;
};

// Converts a getlk, setlk or flock. Returns EINVAL if it has no valid kind of lock, else 0.
int lock_request(const Op& op, LockRequest* request);

// Asks for a lock until it is granted if the operation waits for it, else once. `ask()` sends one request, and returns EAGAIN if
// another owner holds the lock. Static for the reason in path_protocol.hpp.
template <class OpCall, class Ask>
static Task until_granted(OpCall& call, RetryWaits& waits, Ask ask) {
  const auto& o = call.client().options;
  const int64_t until = lock_until(call.op(), o.clock->now(), o.timeout);
  for (;;) {
    const int error = co_await ask();
    if (error != EAGAIN || o.clock->now() >= until) co_return error;
    co_await waits.wait(call.cancelled);
    if (call.cancelled) co_return ECANCELED;
  }
}

}  // namespace fsr::nfs
