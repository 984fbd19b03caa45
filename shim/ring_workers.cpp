// SPDX-License-Identifier: Apache-2.0
#include "ring_workers.hpp"

#include <charconv>
#include <initializer_list>
#include <string_view>

#include "proc_read.hpp"
#include "thread_cache.hpp"

namespace fsr::shim {

namespace {

// 0: the name is no worker's.
pid_t requester_in(std::string_view name) {
  for (const std::string_view prefix : {"iou-wrk-", "iou-sqp-"}) {
    if (!name.starts_with(prefix)) continue;
    pid_t tid = 0;
    std::from_chars(name.data() + prefix.size(), name.data() + name.size(), tid);
    return tid;
  }
  return 0;
}

}  // namespace

pid_t requester_of(pid_t tid) {
  struct NoWorker {};
  thread_local ThreadCache<NoWorker> known;
  thread_local ThreadStatus its, others;
  if (tid <= 0 || known.find(tid) || !read_status(tid, its)) return tid;
  if (const pid_t requester = requester_in(its.name)) {
    // The number counts in the kernel's first namespace of processes; elsewhere it may be anybody's.
    return requester != tid && read_status(requester, others) && others.pid == its.pid ? requester : tid;
  }
  known.keep(tid, {});
  return tid;
}

}  // namespace fsr::shim
