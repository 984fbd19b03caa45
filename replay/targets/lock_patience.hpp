// SPDX-License-Identifier: Apache-2.0
// For how long a lock is asked for that somebody else holds. The capture got it, and a replay asks when those who had it before
// have given it up; where that takes far longer on a target, perhaps for ever, who holds what is not as it was there: then the
// answer is EAGAIN, and counts as an outcome that differs. (On NFS a flock is a lock of all bytes, and collides with others'
// locks of some.)
#pragma once

#include <algorithm>
#include <cstdint>

#include "op.hpp"

namespace fsr {

constexpr int64_t kLockPatience = 2'000'000'000;  // ns, or what a target's timeout says, if that is less

inline bool waits_for_lock(const Op& op) { return op.has(kOpWait) && (op.kind == OpKind::setlk || op.kind == OpKind::flock); }

// Until when, on the clock whose time is `now`; INT64_MIN: it is asked for once.
inline int64_t lock_until(const Op& op, int64_t now, int64_t patience = kLockPatience) {
  constexpr int64_t kTimes = 10;  // the capture's wait, which goes slower in a replay below its speed
  constexpr int64_t kLongest = 86'400'000'000'000;
  if (!waits_for_lock(op)) return INT64_MIN;
  return now + std::min(patience, kLockPatience) + kTimes * std::clamp<int64_t>(op.duration, 0, kLongest);
}

}  // namespace fsr
