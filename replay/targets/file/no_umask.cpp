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

// Gives the calling thread a umask of its own. Called again before each change, because threads that it started since the last
// call share its umask. False: not permitted.
bool own_umask() { return unshare(CLONE_FS) == 0; }

mode_t mask_of_process() {
  std::unique_lock lock(process_mutex, std::defer_lock);
  if (!own_umask()) lock.lock();
  return read_umask();
}

}  // namespace

NoUmask::NoUmask(mode_t mode) {
  static thread_local const mode_t mask = mask_of_process();
  if (!(mode & mask)) return;
  if (!own_umask()) alone_ = std::unique_lock(process_mutex);
  mask_ = mask;
  umask(0);
}

NoUmask::~NoUmask() {
  if (mask_) umask(mask_);
}

}  // namespace fsr
