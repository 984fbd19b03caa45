// SPDX-License-Identifier: Apache-2.0
// Reports requests that are in flight for long: which process waits, and what the thread of fsshim waits for. Mostly that is the
// underlying file system, which may be a network file system. Otherwise it is the capture itself, which is an error.
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
  explicit StallWatch(int64_t limit) : limit_(limit) {}  // ns; 0: reports nothing

  // Returns lines for the user on requests that have stalled since the last call. Checks once a second. `now`: coarse_now().
  std::vector<std::string> look(int64_t now);
  // Number of stalled requests at the last check, and descriptions of the oldest ones.
  size_t count() const { return count_; }
  const std::vector<std::string>& stalled() const { return stalled_; }
  // True: a stalled request waits for the capture itself, and none for the underlying file system, which could delay the others.
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
