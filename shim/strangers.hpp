// SPDX-License-Identifier: Apache-2.0
// Callers that this process's pid namespace does not show, as those in another container. The kernel names them 0
// (fuse_req_init_context()), so their groups and capabilities can't be known, and a capture would refuse what the directory
// permits. So the first of them ends the capture: it gets the directory back, and the kernel looks its path up again.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>

namespace fsr::shim {

class Strangers {
 public:
  // Takes the mount away. True: it is gone. Null: the mount stays, and strangers are served as users without further groups. Set
  // before requests come; called once.
  std::function<bool()> give_back;

  // Notes that one came. True: answer the request with ESTALE, upon which the kernel repeats path lookups (path_resolution(7)
  // leaves that out; filename_lookup() of Linux). Any thread.
  bool turn_away();
  bool came() const { return came_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> came_ = false;
  std::once_flag once_;
  bool gone_ = false;
};

}  // namespace fsr::shim
