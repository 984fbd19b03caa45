// SPDX-License-Identifier: Apache-2.0
// Acts on the underlying file system as the caller, so that its own permission checks and ownership rules decide.
#pragma once

#include <sys/types.h>

#include <initializer_list>
#include <optional>

#include "capabilities.hpp"

namespace fsr::shim {

struct Caller {
  Caller() = default;
  Caller(uid_t uid_arg, gid_t gid_arg, pid_t tid_arg, mode_t umask_arg)
      : uid(uid_arg), gid(gid_arg), tid(tid_arg), umask(umask_arg) {}
  uid_t uid = 0;
  gid_t gid = 0;
  pid_t tid = 0;
  mode_t umask = 0;

  // As they are when they are first asked for: they cost a system call or more.
  const Capabilities& capabilities() const;
  void lose(uint64_t capabilities_to_lose) const {
    capabilities();
    capabilities_->effective &= ~capabilities_to_lose;
  }

 private:
  mutable std::optional<Capabilities> capabilities_;
};

// Once, before threads start: whether this process may take on other identities at all (root).
void set_may_switch(bool may);
bool may_switch();
// Again, once the process has entered a user namespace: it has other capabilities there.
void note_own_capabilities();

// True if this caller may do the same to files as the process itself while it serves.
bool acts_as_root(const Caller& caller);

// While it lives, the calling thread has the caller's groups, fsgid, fsuid and capabilities. Does nothing for root, unless it
// lacks capabilities, and where the process may not switch. Descriptors that need the process's own rights must be at hand
// before. A caller that is allowed already needs neither groups nor, unless something is made or changed hands, the rest.
class CallerScope {
 public:
  enum Extent {
    kNothing,
    kOwnership,     // user and group only
    kAll,           // but the right to go beyond limits (CAP_SYS_RESOURCE), which most calls have no use for
    kBeyondLimits,  // that too
    kWriteBack,     // user and group, and set-id bits stay
  };
  // `files`: those whose owners decide whether capabilities of a user namespace count; for none of them, none does.
  explicit CallerScope(const Caller& caller, Extent extent = kAll, std::initializer_list<CapabilityTarget> files = {});
  ~CallerScope();
  CallerScope(const CallerScope&) = delete;
  CallerScope& operator=(const CallerScope&) = delete;

 private:
  bool switched_ = false, capabilities_changed_ = false;
};

// While it lives, the calling thread may open what an application has open already, whatever the file's mode is by now. Outside
// this scope, a process that can't change its identity acts with the capabilities of its user: none.
class ReopenScope {
 public:
  ReopenScope();
  ~ReopenScope();
  ReopenScope(const ReopenScope&) = delete;
  ReopenScope& operator=(const ReopenScope&) = delete;
};

// Gives the calling thread its own umask and working directory (/proc/self/fd, so that a descriptor's number is a path to what
// it stands for), and takes the right to go beyond limits from it; all capabilities where the process may not switch. Called
// once per thread that serves requests.
void prepare_thread(int proc_fd);

// The umask for what the calling thread creates next. Such a thread creates nothing of the process's own.
void thread_umask(mode_t mask);

// Path of a descriptor relative to such a thread's working directory.
struct FdPath {
  char text[12];
  explicit FdPath(int fd);
};

}  // namespace fsr::shim
