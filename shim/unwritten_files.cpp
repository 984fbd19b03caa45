// SPDX-License-Identifier: Apache-2.0
#include "unwritten_files.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "entry_cache.hpp"

namespace fsr::shim {

namespace {

constexpr size_t kFiles = 256;                    // watched at a time; each keeps its inode in memory
constexpr int64_t kRound = 250'000'000;           // ns for which files are believed to be unwritten
constexpr int64_t kUnwrittenPause = 100'000'000;  // ns after an open or a refusal: writers mostly stay, or come again

// The lease belongs to this descriptor, so no other process notices it.
bool nobody_writes(int fd) {
  struct statfs fs;
  // A mapping of an overlay's file keeps the file of its layer open, and the overlay's own can be had.
  if (fstatfs(fd, &fs) != 0 || fs.f_type == OVERLAYFS_SUPER_MAGIC) return false;
  if (fcntl(fd, F_SETLEASE, F_RDLCK) != 0) return false;
  fcntl(fd, F_SETLEASE, F_UNLCK);
  return true;
}

}  // namespace

UnwrittenFiles::UnwrittenFiles(std::function<void(uint64_t)> over)
    : over_(std::move(over)),
      inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      stop_(eventfd(0, EFD_CLOEXEC)) {
  if (!inotify_ || !timer_ || !stop_) return;
  signal(SIGIO, SIG_IGN);  // sent when a process opens the file for writing while there is a lease
  thread_ = std::thread([this] { watch_events(); });
}

UnwrittenFiles::~UnwrittenFiles() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

bool UnwrittenFiles::contains(uint64_t node, int fd) {
  if (!thread_.joinable()) return false;
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;
  if (watches_.contains(node)) return true;
  const int64_t now = coarse_now();
  const auto paused = paused_.find(node);
  if (paused != paused_.end() && now < paused->second) return false;
  if (add(node, fd)) return false;  // pages that were read before may be old
  if (paused_.size() >= kFiles) paused_.clear();
  paused_[node] = now + kUnwrittenPause;
  return false;
}

// Opens before the lease are covered by the lease, later ones cause an event.
bool UnwrittenFiles::add(uint64_t node, int fd) {
  if (watches_.size() >= kFiles) return false;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const int watch = inotify_add_watch(inotify_.get(), path.c_str(), IN_OPEN | IN_MODIFY);
  if (watch < 0) return false;
  if (watches_.empty()) {
    const itimerspec round{{}, {0, kRound}};
    timerfd_settime(timer_.get(), 0, &round, nullptr);
  }
  watches_[node] = watch;
  if (nobody_writes(fd)) return true;
  remove(watch, true);
  return false;
}

// Removes the files with that watch; two nodes of one file share it.
void UnwrittenFiles::remove(int watch, bool pause) {
  for (auto i = watches_.begin(); i != watches_.end();) {
    if (i->second != watch) {
      ++i;
      continue;
    }
    if (pause) paused_[i->first] = coarse_now() + kUnwrittenPause;
    over_(i->first);
    i = watches_.erase(i);
  }
  inotify_rm_watch(inotify_.get(), watch);
}

void UnwrittenFiles::watch_events() {
  pollfd waited[] = {{inotify_.get(), POLLIN, 0}, {timer_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  for (;;) {
    if (poll(waited, std::size(waited), -1) < 0) continue;
    if (waited[2].revents) return;
    std::lock_guard lock(mutex_);
    if (waited[0].revents) read_events();
    uint64_t times;
    if (waited[1].revents && read(timer_.get(), &times, sizeof times) == ssize_t(sizeof times))
      while (!watches_.empty()) remove(watches_.begin()->second, false);
  }
}

void UnwrittenFiles::read_events() {
  alignas(inotify_event) char events[4096];
  for (ssize_t n; (n = read(inotify_.get(), events, sizeof events)) > 0;)
    for (ssize_t at = 0; at < n;) {
      inotify_event event;
      memcpy(&event, events + at, sizeof event);
      at += ssize_t(sizeof event + event.len);
      if (event.mask & IN_Q_OVERFLOW)
        while (!watches_.empty()) remove(watches_.begin()->second, true);
      else
        remove(event.wd, true);
    }
}

}  // namespace fsr::shim
