// SPDX-License-Identifier: Apache-2.0
// Acts on the lower file system as the caller, so that its own permission checks and ownership rules decide.
#pragma once

#include <sys/types.h>

namespace fsr {

struct Caller {
  uid_t uid = 0;
  gid_t gid = 0;
  pid_t tid = 0;
  mode_t umask = 0;
};

// Once, before threads start: whether this process may take on other identities at all (root).
void set_may_switch(bool may);
bool may_switch();

// Whether what this caller may do is what the process itself may do.
bool acts_as_root(const Caller& caller);

// While it lives, the calling thread has the caller's groups, fsgid and fsuid (and with them no capability over files unless the
// caller is root). Does nothing for root itself and where the process may not switch. Descriptors that need the process's own
// rights must be at hand before.
// A caller that is allowed already needs neither groups nor, unless something is made or changed hands, the rest.
class CallerScope {
 public:
  enum Extent { kNothing, kOwnership, kAll };  // kOwnership: not the groups
  explicit CallerScope(const Caller& caller, Extent extent = kAll);
  ~CallerScope();
  CallerScope(const CallerScope&) = delete;
  CallerScope& operator=(const CallerScope&) = delete;

 private:
  bool switched_ = false;
};

// Gives the calling thread its own umask and working directory (/proc/self/fd, so that a descriptor's number is a path to what
// it stands for). Called once per thread that serves requests.
void prepare_thread(int proc_fd);

// The umask for what the calling thread creates next. Such a thread creates nothing of the process's own.
void thread_umask(mode_t mask);

// Path of a descriptor relative to such a thread's working directory.
struct FdPath {
  char text[12];
  explicit FdPath(int fd);
};

}  // namespace fsr
