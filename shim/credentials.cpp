// SPDX-License-Identifier: Apache-2.0
#include "credentials.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "process_table.hpp"

namespace fsr {

namespace {

bool g_may_switch = false;

// The C library applies credentials to all threads; these calls concern the calling thread only.
void thread_groups(const std::vector<gid_t>& groups) { syscall(SYS_setgroups, groups.size(), groups.data()); }
void thread_fsuid(uid_t uid) { syscall(SYS_setfsuid, uid); }
void thread_fsgid(gid_t gid) { syscall(SYS_setfsgid, gid); }

}  // namespace

void set_may_switch(bool may) { g_may_switch = may; }
bool may_switch() { return g_may_switch; }

CallerScope::CallerScope(const Caller& caller) {
  if (!g_may_switch || (caller.uid == 0 && caller.gid == 0)) return;
  switched_ = true;
  thread_local std::vector<gid_t> groups, active;
  // A caller that is gone has no groups to read: it then has none here either.
  ProcessTable::groups_of(caller.tid, groups);
  if (groups != active) {
    thread_groups(groups);
    active = groups;
  }
  thread_fsgid(caller.gid);
  thread_fsuid(caller.uid);
}

CallerScope::~CallerScope() {
  if (!switched_) return;
  thread_fsuid(0);
  thread_fsgid(0);
}

void prepare_thread(int proc_fd) {
  if (unshare(CLONE_FS) == 0) (void)!fchdir(proc_fd);
}

}  // namespace fsr
