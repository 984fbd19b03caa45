// SPDX-License-Identifier: Apache-2.0
// Forgets threads that have ended, in a table by thread id, so that memory follows the threads that live.
//
// A thread that was not looked up for half a minute is asked for. If it has ended, it is forgotten after another half without a
// look. Operations, faults and a start time of such a thread may come until then.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace fsr::shim {

struct ThreadSeen {
  int64_t at = 0;      // time at which it was looked up, or was asked for last; ns
  bool ended = false;  // it had ended when it was asked for
};

// True: the kernel has no such thread.
bool thread_ended(pid_t tid);

// `Table`: of the standard library's unordered kind, from thread id to a struct whose `seen` is a ThreadSeen. One thread.
template <class Table>
class EndedThreads {
 public:
  // Call this a few times per second: each call looks at a part of the table. `mutex` guards the table. `now`: on the clock of
  // ThreadSeen::at.
  template <class Mutex>
  void forget(Table& table, Mutex& mutex, int64_t now) {
    for (const auto& [tid, seen] : unseen(table, mutex, now)) {
      const bool ended = thread_ended(pid_t(tid));  // without the mutex
      std::lock_guard lock(mutex);
      const auto at = table.find(tid);
      if (at == table.end() || at->second.seen.at != seen) continue;  // it was looked up meanwhile
      if (ended && at->second.seen.ended)
        table.erase(at);
      else
        at->second.seen = {now, ended};
    }
  }

 private:
  static constexpr int64_t kKept = 30'000'000'000;  // ns
  static constexpr size_t kBuckets = 1024;          // that one call looks at

  template <class Mutex>
  std::vector<std::pair<typename Table::key_type, int64_t>> unseen(const Table& table, Mutex& mutex, int64_t now) {
    std::vector<std::pair<typename Table::key_type, int64_t>> found;
    std::lock_guard lock(mutex);
    if (next_bucket_ >= table.bucket_count()) next_bucket_ = 0;
    const size_t end = std::min(next_bucket_ + kBuckets, table.bucket_count());
    for (; next_bucket_ < end; ++next_bucket_)
      for (auto at = table.begin(next_bucket_); at != table.end(next_bucket_); ++at)
        if (now - at->second.seen.at > kKept) found.emplace_back(at->first, at->second.seen.at);
    return found;
  }

  size_t next_bucket_ = 0;
};

}  // namespace fsr::shim
