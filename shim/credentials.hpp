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

  // Reads the capabilities at the first call, which takes a system call or more. Later calls return the same.
  const Capabilities& capabilities() const;
  void lose(uint64_t capabilities_to_lose) const {
    capabilities();
    capabilities_->effective &= ~capabilities_to_lose;
  }

 private:
  mutable std::optional<Capabilities> capabilities_;
};

// `may`: this process may take on other identities (root). Called once, before threads start.
void set_may_switch(bool may);
bool may_switch();
// True: this process has the capabilities that taking on other identities requires.
bool can_switch();
// Notes the capabilities of this process. Called again after it has entered a user namespace, where it has other ones.
void note_own_capabilities();

// True if this caller may do the same to files as the process itself while it serves.
bool acts_as_root(const Caller& caller);

// Gives the calling thread the caller's groups, fsgid, fsuid and capabilities for as long as this object exists. Does nothing for
// root with all capabilities, or if the process may not switch. Open descriptors that need the process's own rights before. If
// the caller is allowed anyway, groups are not needed, and the rest only for new files and changes of owner.
class CallerScope {
 public:
  enum Extent {
    kNothing,
    kOwnership,     // user and group only
    kAll,           // all but CAP_SYS_RESOURCE, the right to exceed limits, which most calls do not use
    kBeyondLimits,  // all, with CAP_SYS_RESOURCE
    kWriteBack,     // user and group, and the right to keep set-id bits
  };
  // `files`: their owners decide whether capabilities of a user namespace count. Empty: these capabilities do not count.
  explicit CallerScope(const Caller& caller, Extent extent = kAll, std::initializer_list<CapabilityTarget> files = {});
  ~CallerScope();
  CallerScope(const CallerScope&) = delete;
  CallerScope& operator=(const CallerScope&) = delete;

 private:
  bool switched_ = false, capabilities_changed_ = false;
};

// Lets the calling thread open a file that an application has open, whatever the file's mode is now, while this object exists.
// Otherwise, a process that can't change its identity acts with the capabilities of its user: none.
class ReopenScope {
 public:
  ReopenScope();
  ~ReopenScope();
  ReopenScope(const ReopenScope&) = delete;
  ReopenScope& operator=(const ReopenScope&) = delete;
};

// Prepares a thread that serves requests. Each calls this once. The thread gets its own umask and its own working directory,
// /proc/self/fd, in which the number of a descriptor is a path to its file. It loses the right to exceed limits, and all
// capabilities if the process may not switch.
void prepare_thread(int proc_fd);

// Sets the umask for files that the calling thread creates for callers. Such a thread creates no files of the process's own.
void thread_umask(mode_t mask);

// Path of a descriptor, relative to the working directory that prepare_thread() sets.
struct FdPath {
  char text[12];
  explicit FdPath(int fd);
};

}  // namespace fsr::shim
