// SPDX-License-Identifier: Apache-2.0
// Creates files with exactly the recorded mode, although the process has a umask. Other files of the process (reports, metrics,
// files of commands that it starts) are created with the user's umask.
#pragma once

#include <sys/types.h>

#include <mutex>

namespace fsr {

// Turns the umask off for files that this thread creates with `mode` while the object lives. A thread gets a umask of its own
// when it first needs one. If the system forbids that (unshare(2) in some containers), one thread at a time changes the process's
// umask.
class NoUmask {
 public:
  explicit NoUmask(mode_t mode);
  ~NoUmask();
  NoUmask(const NoUmask&) = delete;
  NoUmask& operator=(const NoUmask&) = delete;

 private:
  std::unique_lock<std::mutex> alone_;
  mode_t mask_ = 0;  // umask to restore; 0: it was not changed
};

}  // namespace fsr
