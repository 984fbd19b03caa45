// SPDX-License-Identifier: Apache-2.0
#include "process_table.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "proc_read.hpp"

namespace fsr::shim {

namespace {

// ns that a thread is believed to be what it was: at first, and at most.
constexpr int64_t kFirstTrust = 4'000'000, kMostTrust = 1'000'000'000;

struct Cached {
  pid_t tid = 0;
  int64_t until = 0;
  OwnThread info;
};

}  // namespace

OwnThread ProcessTable::find(pid_t tid, int64_t now) {
  thread_local std::array<Cached, 256> cache;
  Cached& slot = cache[size_t(tid) % cache.size()];
  if (slot.tid == tid && now < slot.until) return slot.info;
  const Known known = refresh(tid, now);
  slot = {tid, known.until, known.info};
  return slot.info;
}

void ProcessTable::define(Known& known, pid_t tid, const ThreadStatus& status, ThreadId id) {
  known.info = ThreadInfo{.id = id,
                          .tid = tid,
                          .pid = status.pid != 0 ? status.pid : tid,
                          .ppid = status.ppid,
                          .start_ticks = known.start_ticks,
                          .command = status.name};
}

ProcessTable::Known ProcessTable::refresh(pid_t tid, int64_t now) {
  {
    // Another thread may have looked just now.
    std::lock_guard lock(mutex_);
    if (auto at = current_.find(tid); at != current_.end() && now < at->second.until) return at->second;
  }
  thread_local ThreadStatus status;
  const bool alive = read_status(tid, status);
  if (!alive) status = {};
  std::unique_lock lock(mutex_);
  Known& known = current_[tid];
  // If the file was opened anew, the start time will show whether this is another thread of the same process and name.
  const bool same_file = status.instance == known.instance;
  const bool same_thread =
      known.info.id != 0 && (!alive || same_file || (known.info.pid == status.pid && known.info.command == status.name));
  const bool as_before =
      same_thread && (!alive || (known.info.command == status.name && known.info.start_ticks == known.start_ticks));
  known.trust = as_before ? std::min(known.trust * 2, kMostTrust) : kFirstTrust;
  known.until = now + known.trust;
  known.seen = {now};
  if (alive) known.instance = status.instance;
  if (known.info.id != 0 && !same_thread) known.start_ticks = 0;
  if (!as_before) define(known, tid, status, same_thread ? known.info.id : ++last_id_);
  const Known result = known;
  lock.unlock();
  if (alive && !same_file && ask_start) ask_start(tid);
  return result;
}

OwnThread ProcessTable::named(pid_t tid, pid_t pid, pid_t parent, int64_t now) {
  {
    std::lock_guard lock(mutex_);
    if (auto at = current_.find(tid); at != current_.end() && at->second.info.pid == pid) return at->second.info;
  }
  ThreadStatus status;
  status.pid = pid;
  std::string name = read_proc(std::to_string(tid), ProcFile::comm);
  name.resize(std::min({name.find('\n'), name.size(), sizeof status.name - 1}));
  name.copy(status.name, name.size());
  std::lock_guard lock(mutex_);
  status.ppid = parent;
  for (pid_t like : {pid, parent})
    if (auto at = current_.find(like); name.empty() && at != current_.end() && at->second.info.id != 0) {
      name = at->second.info.command;
      name.copy(status.name, sizeof status.name - 1);
    }
  Known& known = current_[tid];
  known = {};
  known.seen = {now};
  define(known, tid, status, ++last_id_);
  return known.info;
}

void ProcessTable::started(pid_t tid, uint64_t ticks) {
  std::lock_guard lock(mutex_);
  auto at = current_.find(tid);
  if (at == current_.end()) return;
  Known& known = at->second;
  if (known.start_ticks != 0 && known.start_ticks != ticks)
    known = {.instance = known.instance, .seen = known.seen};  // another thread with the id
  known.start_ticks = ticks;
}

void ProcessTable::forget_ended(int64_t now) { ended_.forget(current_, mutex_, now); }

}  // namespace fsr::shim
