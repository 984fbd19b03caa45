// SPDX-License-Identifier: Apache-2.0
#include "process_table.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace fsr {

namespace {

// ns that a thread is believed to be what it was: at first, and at most.
constexpr int64_t kFirstTrust = 4'000'000, kMostTrust = 1'000'000'000;

struct Cached {
  pid_t tid = 0;
  int64_t until = 0;
  const ThreadInfo* info = nullptr;
};

// /proc/TID/NAME; empty when the thread is gone.
std::string_view read_proc(pid_t tid, const char* name, char* buffer, size_t size) {
  char path[48];
  snprintf(path, sizeof path, "/proc/%d/%s", int(tid), name);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  ssize_t n = read(fd, buffer, size - 1);
  close(fd);
  if (n <= 0) return {};
  buffer[n] = 0;
  return {buffer, size_t(n)};
}

// The number after "\nNAME:" in a status file, 0 if there is none.
long status_number(std::string_view status, const char* name) {
  size_t at = status.find(name);
  return at == std::string_view::npos ? 0 : strtol(status.data() + at + strlen(name), nullptr, 10);
}

}  // namespace

const ThreadInfo* ProcessTable::find(pid_t tid, int64_t now) {
  thread_local std::array<Cached, 256> cache;
  Cached& slot = cache[size_t(tid) % cache.size()];
  if (slot.tid == tid && now < slot.until) return slot.info;
  const Known known = refresh(tid, now);
  slot = {tid, known.until, known.info};
  return slot.info;
}

ProcessTable::Known ProcessTable::refresh(pid_t tid, int64_t now) {
  {
    // Another thread may have looked just now.
    std::lock_guard lock(mutex_);
    if (auto at = current_.find(tid); at != current_.end() && now < at->second.until) return at->second;
  }
  char buffer[4096];
  ThreadInfo info;
  info.tid = tid;
  char command[17] = "";
  std::string_view stat = read_proc(tid, "stat", buffer, sizeof buffer);
  size_t open = stat.find('('), close = stat.rfind(')');
  if (open != std::string_view::npos && close != std::string_view::npos) {
    size_t length = std::min<size_t>(close - open - 1, 15);
    memcpy(command, stat.data() + open + 1, length);
    command[length] = 0;
    // Fields 3.. follow the command: state, parent, ..., and the start time as number 22.
    const char* p = stat.data() + close + 1;
    for (int field = 3; field <= 22 && p; ++field) {
      p = strchr(p, ' ');
      if (!p) break;
      ++p;
      if (field == 4) info.ppid = int32_t(strtol(p, nullptr, 10));
      if (field == 22) info.start_ticks = strtoull(p, nullptr, 10);
    }
  }
  std::lock_guard lock(mutex_);
  Known& current = current_[tid];
  const bool same_thread = current.info && (current.info->start_ticks == info.start_ticks || stat.empty());
  const bool as_before = same_thread && (current.info->command == command || stat.empty());
  current.trust = as_before ? std::min(current.trust * 2, kMostTrust) : kFirstTrust;
  current.until = now + current.trust;
  if (as_before) return current;
  info.pid = int32_t(status_number(read_proc(tid, "status", buffer, sizeof buffer), "\nTgid:"));
  if (info.pid == 0) info.pid = tid;
  info.id = same_thread ? current.info->id : ++last_id_;
  commands_.emplace_back(command);
  info.command = commands_.back();
  threads_.push_back(info);
  current.info = &threads_.back();
  return current;
}

bool ProcessTable::groups_of(pid_t tid, std::vector<gid_t>& groups) {
  groups.clear();
  // A process may have 65,536 groups; the usual few fit the first buffer.
  thread_local std::vector<char> buffer(4096);
  std::string_view status;
  for (;;) {
    status = read_proc(tid, "status", buffer.data(), buffer.size());
    if (status.size() + 1 < buffer.size() || buffer.size() > (1 << 20)) break;
    buffer.resize(buffer.size() * 4);
  }
  size_t at = status.find("\nGroups:");
  if (at == std::string_view::npos) return false;
  const char* p = status.data() + at + 8;
  for (;;) {
    while (*p == ' ' || *p == '\t') ++p;
    if (*p < '0' || *p > '9') return true;
    char* end;
    groups.push_back(gid_t(strtoul(p, &end, 10)));
    p = end;
  }
}

}  // namespace fsr
