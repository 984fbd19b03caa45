// SPDX-License-Identifier: Apache-2.0
#include "ring_workers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "entry_cache.hpp"
#include "proc_read.hpp"

namespace fsr::shim {

namespace {

// ns that a thread is believed to be no worker: at first, and at most.
constexpr int64_t kFirstTrust = 4'000'000, kMostTrust = 1'000'000'000;

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
  struct NoWorker {
    pid_t tid = 0;
    int64_t until = 0, trust = 0;
  };
  thread_local std::array<NoWorker, 256> known;
  thread_local ThreadStatus its, others;
  if (tid <= 0) return tid;
  NoWorker& slot = known[size_t(tid) % known.size()];
  const int64_t now = coarse_now();
  if (slot.tid == tid && now < slot.until) return tid;
  if (!read_status(tid, its)) return tid;
  if (const pid_t requester = requester_in(its.name)) {
    // The number counts in the kernel's first namespace of processes; elsewhere it may be anybody's.
    return requester != tid && read_status(requester, others) && others.pid == its.pid ? requester : tid;
  }
  const int64_t trust = slot.tid == tid ? std::min(slot.trust * 2, kMostTrust) : kFirstTrust;
  slot = {tid, now + trust, trust};
  return tid;
}

}  // namespace fsr::shim
