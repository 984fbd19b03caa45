// SPDX-License-Identifier: Apache-2.0
// Limits how long a target asks for a lock that another owner holds. The lock was granted in the capture, and a replay asks for
// it after the recorded holders have released it. If that takes far longer on a target, perhaps forever, the locks are held
// differently there. The operation then ends with EAGAIN, which counts as a different outcome. (On NFS, flock locks all bytes,
// and conflicts with other owners' locks of some bytes.)
#pragma once

#include <algorithm>
#include <cstdint>

#include "op.hpp"

namespace fsr {

constexpr int64_t kLockTimeout = 2'000'000'000;  // ns, unless the target's timeout is shorter

inline bool waits_for_lock(const Op& op) { return op.has(kOpWait) && (op.kind == OpKind::setlk || op.kind == OpKind::flock); }

// Returns the time until which the lock is asked for. `now`: current time of the same clock. `timeout`: ns, the target's
// timeout. INT64_MIN: the operation does not wait, and the lock is asked for once.
inline int64_t lock_until(const Op& op, int64_t now, int64_t timeout = kLockTimeout) {
  constexpr int64_t kTimes = 10;  // multiple of the recorded wait, because a replay may be slower than the capture
  constexpr int64_t kLongest = 86'400'000'000'000;
  if (!waits_for_lock(op)) return INT64_MIN;
  return now + std::min(timeout, kLockTimeout) + kTimes * std::clamp<int64_t>(op.duration, 0, kLongest);
}

}  // namespace fsr
