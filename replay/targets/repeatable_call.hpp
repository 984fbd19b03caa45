// SPDX-License-Identifier: Apache-2.0
// Operations of protocols that name files by where they are, on a connection that may break: those that it interrupted begin
// again if nothing was asked of the server that it must not do twice, and so do those that missed a name which was moved
// meanwhile.
#pragma once

#include <errno.h>

#include <atomic>
#include <cstdint>

#include "targets/shared_session.hpp"

namespace fsr {

struct RepeatableCall : SharedCall {
  bool harmful = false;  // a request that must not be made twice may have been performed
};

struct RepeatCounters {
  std::atomic<uint64_t> repeated{0};  // operations begun again after their connection broke
  std::atomic<uint64_t> lost{0};      // operations that failed since their connection broke
  std::atomic<uint64_t> moved{0};     // operations begun again since a name on their path was moved meanwhile
};

inline bool connection_broke(int error) { return error == ECONNRESET || error == ENOTCONN; }

// `ready(call)` waits for a connection, `perform(call)` is the operation; `tree` knows of moves (known_tree.hpp).
template <class Call, class Tree, class Ready, class Perform>
Task repeat_call(Call& call, Tree& tree, RepeatCounters& counters, Ready ready, Perform perform) {
  constexpr unsigned kMostAttempts = 4;
  int error;
  for (unsigned attempts = 1;; ++attempts) {
    call.request->outcome = Outcome();
    error = co_await ready(call);
    if (error) break;
    const uint64_t moves = tree.moves;
    error = co_await perform(call);
    if (!error || call.cancelled || attempts >= kMostAttempts) break;
    if (connection_broke(error) && !call.harmful) {
      ++counters.repeated;
    } else if ((error == ENOENT || error == ESTALE || error == ENOTDIR) && tree.moved_since(moves)) {
      ++counters.moved;
    } else {
      break;
    }
  }
  if (connection_broke(error)) {
    ++counters.lost;
    error = ECONNRESET;
  }
  co_return error;
}

}  // namespace fsr
