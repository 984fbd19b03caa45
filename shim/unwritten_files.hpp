// SPDX-License-Identifier: Apache-2.0
// Knows underlying files that can't change unnoticed, so that the kernel may keep what it has read of them.
//
// Stores through a mapping are never reported, and may leave the file's times as they are. But a mapping for writing counts as an
// open for writing, whatever process has it. The kernel refuses a lease for reading while there is such an open. So this class
// asks for a lease and gives it back at once. If it was granted, a change needs an open or a truncation first, and inotify
// reports both. For that microsecond an open for writing waits, or is refused with O_NONBLOCK; so a file is asked about only now
// and then.
//
// Opens through an overlay whose layer the file is are not reported. So each file is forgotten after kRound, and asked about
// again when the next read comes.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "util/unique_fd.hpp"

namespace fsr::shim {

class UnwrittenFiles {
 public:
  // `over`: called with the node of each file that may change from now on; by a thread of this class.
  explicit UnwrittenFiles(std::function<void(uint64_t)> over);
  ~UnwrittenFiles();
  UnwrittenFiles(const UnwrittenFiles&) = delete;
  UnwrittenFiles& operator=(const UnwrittenFiles&) = delete;

  // True: the file `node` has not changed since the last call for it that returned false. `fd`: a descriptor of the file. Never
  // blocks. Any thread.
  bool contains(uint64_t node, int fd);

 private:
  bool add(uint64_t node, int fd);
  void remove(int watch, bool pause);
  void watch_events();
  void read_events();

  const std::function<void(uint64_t)> over_;
  UniqueFd inotify_, timer_, stop_;
  std::mutex mutex_;                              // guards the members below; contains() does not wait for it
  std::unordered_map<uint64_t, int> watches_;     // watches of inotify, by node
  std::unordered_map<uint64_t, int64_t> paused_;  // by node: coarse_now() before which no lease is requested for it
  std::thread thread_;
};

}  // namespace fsr::shim
