// SPDX-License-Identifier: Apache-2.0
#include "credentials.hpp"

#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <vector>

#include "proc_read.hpp"

namespace fsr {

namespace {

bool g_may_switch = false;

// The C library applies credentials to all threads; these calls concern the calling thread only.
void thread_groups(const std::vector<gid_t>& groups) { syscall(SYS_setgroups, groups.size(), groups.data()); }
void thread_fsuid(uid_t uid) { syscall(SYS_setfsuid, uid); }
void thread_fsgid(gid_t gid) { syscall(SYS_setfsgid, gid); }

void take_groups(const Caller& caller) {
  thread_local ThreadStatus status;
  thread_local std::vector<gid_t> active;
  thread_local bool taken = false;  // until then the thread has the process's own
  // A caller that is gone has no groups to read: it then has none here either.
  if (!read_status(caller.tid, status)) status.groups.clear();
  if (taken && status.groups == active) return;
  thread_groups(status.groups);
  active = status.groups;
  taken = true;
}

}  // namespace

void set_may_switch(bool may) { g_may_switch = may; }
bool may_switch() { return g_may_switch; }

bool acts_as_root(const Caller& caller) { return !g_may_switch || caller.uid == 0; }

FdPath::FdPath(int fd) { *std::to_chars(text, text + sizeof text - 1, fd).ptr = 0; }

CallerScope::CallerScope(const Caller& caller, Extent extent) {
  if (extent == kNothing || !g_may_switch || (caller.uid == 0 && caller.gid == 0)) return;
  switched_ = true;
  if (extent == kAll) take_groups(caller);
  thread_fsgid(caller.gid);
  thread_fsuid(caller.uid);
}

CallerScope::~CallerScope() {
  if (!switched_) return;
  thread_fsuid(0);
  thread_fsgid(0);
}

void thread_umask(mode_t mask) {
  thread_local mode_t current = 0;  // the process's own, see raise_limits()
  if (mask == current) return;
  umask(mask);
  current = mask;
}

void prepare_thread(int proc_fd) {
  if (unshare(CLONE_FS) == 0) (void)!fchdir(proc_fd);
  umask(0);  // it begins with that of the worker that made it, which may be just serving a caller
}

}  // namespace fsr
