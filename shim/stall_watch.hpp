// SPDX-License-Identifier: Apache-2.0
// Requests that have been in this process for long: who waits, and what its thread waits for. It is the underlying file system
// mostly, which may be a network's; else it is the capture itself that does not go on, which would be an error of its own.
//
// Used by one thread. Reads only files in /proc that never block.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "in_flight_request.hpp"

namespace fsr::shim {

class StallWatch {
 public:
  explicit StallWatch(int64_t limit) : limit_(limit) {}  // ns; 0: looks at nothing

  // Lines for the user about requests that are stalled since the last call. Looks once a second.
  std::vector<std::string> look(int64_t now);  // coarse_now()
  // As it was at the last look: how many are stalled, and which (the oldest of them).
  size_t count() const { return count_; }
  const std::vector<std::string>& stalled() const { return stalled_; }
  // One of them waits for the capture itself, and none for the underlying file system, for which others could be waiting in turn.
  bool own_fault() const { return own_fault_; }

 private:
  const int64_t limit_;
  int64_t looked_at_ = 0;
  std::set<std::pair<pid_t, int64_t>> reported_;  // thread and arrival
  size_t count_ = 0;
  std::vector<std::string> stalled_;
  bool own_fault_ = false;
};

}  // namespace fsr::shim
