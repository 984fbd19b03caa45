// SPDX-License-Identifier: Apache-2.0
// Makes files with exactly the mode that was recorded, although the process has a umask: what else the process makes (reports,
// metrics, files of commands that it starts) keeps the user's.
#pragma once

#include <sys/types.h>

#include <mutex>

namespace fsr {

// No umask applies to what this thread makes with `mode` while the object lives. A thread gets a umask of its own at the first
// need; where the system forbids that (unshare(2) in some containers), one thread at a time changes that of the process.
class NoUmask {
 public:
  explicit NoUmask(mode_t mode);
  ~NoUmask();
  NoUmask(const NoUmask&) = delete;
  NoUmask& operator=(const NoUmask&) = delete;

 private:
  std::unique_lock<std::mutex> alone_;
  mode_t mask_ = 0;  // to be set again; 0: nothing was changed
};

}  // namespace fsr
