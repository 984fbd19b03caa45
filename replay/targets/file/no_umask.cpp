// SPDX-License-Identifier: Apache-2.0
#include "no_umask.hpp"

#include <sched.h>
#include <sys/stat.h>

namespace fsr {

namespace {

std::mutex process_mutex;

mode_t read_umask() {
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}

struct ThreadMask {
  const bool own = unshare(CLONE_FS) == 0;
  mode_t mask = 0;

  ThreadMask() {
    std::unique_lock lock(process_mutex, std::defer_lock);
    if (!own) lock.lock();
    mask = read_umask();
  }
};

}  // namespace

NoUmask::NoUmask(mode_t mode) {
  static thread_local const ThreadMask thread;
  if (!(mode & thread.mask)) return;
  if (!thread.own) alone_ = std::unique_lock(process_mutex);
  mask_ = thread.mask;
  umask(0);
}

NoUmask::~NoUmask() {
  if (mask_) umask(mask_);
}

}  // namespace fsr
