// SPDX-License-Identifier: Apache-2.0
#include "credentials.hpp"

#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <vector>

#include "proc_read.hpp"
#include "ring_workers.hpp"

namespace fsr::shim {

namespace {

bool g_may_switch = false;

// Capabilities of this process. Threads that serve requests have all of them except the right to go beyond limits.
struct Own {
  uint64_t permitted = 0, inheritable = 0;
  // A process that can't change its identity has capabilities only in its own user namespace; its user does not have them.
  uint64_t serving() const { return g_may_switch ? permitted & ~capability(CAP_SYS_RESOURCE) : 0; }
} g_own;

// The C library applies credentials to all threads; these calls concern the calling thread only.
void thread_groups(const std::vector<gid_t>& groups) { syscall(SYS_setgroups, groups.size(), groups.data()); }
void thread_fsuid(uid_t uid) { syscall(SYS_setfsuid, uid); }
void thread_fsgid(gid_t gid) { syscall(SYS_setfsgid, gid); }

void thread_capabilities(uint64_t effective) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  for (unsigned i : {0u, 1u})
    sets[i] = {uint32_t(effective >> 32 * i), uint32_t(g_own.permitted >> 32 * i), uint32_t(g_own.inheritable >> 32 * i)};
  syscall(SYS_capset, &header, sets);
}

void take_groups(const Caller& caller) {
  thread_local ThreadStatus status;
  thread_local std::vector<gid_t> active;
  thread_local bool taken = false;  // until then the thread has the process's own
  // The groups of a caller that has ended, or that acts as another user, are unknown, so it gets none here.
  if (!read_status(requester_of(caller.tid), status) || status.uid[3] != caller.uid || status.gid[3] != caller.gid)
    status.groups.clear();
  if (taken && status.groups == active) return;
  thread_groups(status.groups);
  active = status.groups;
  taken = true;
}

}  // namespace

const Capabilities& Caller::capabilities() const {
  if (!capabilities_) capabilities_ = capabilities_of(*this);
  return *capabilities_;
}

void set_may_switch(bool may) {
  g_may_switch = may;
  note_own_capabilities();
}

void note_own_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
  syscall(SYS_capget, &header, sets);
  g_own = {uint64_t(sets[1].permitted) << 32 | sets[0].permitted, uint64_t(sets[1].inheritable) << 32 | sets[0].inheritable};
}

bool may_switch() { return g_may_switch; }

bool can_switch() {
  constexpr uint64_t kNeeded = capability(CAP_SETUID) | capability(CAP_SETGID);
  return (g_own.permitted & kNeeded) == kNeeded;
}

bool acts_as_root(const Caller& caller) {
  if (!g_may_switch) return true;
  const uint64_t wanted = kRootCapabilities & g_own.permitted;
  return caller.uid == 0 && (caller.capabilities().over_system() & wanted) == wanted;
}

FdPath::FdPath(int fd) { *std::to_chars(text, text + sizeof text - 1, fd).ptr = 0; }

CallerScope::CallerScope(const Caller& caller, Extent extent, std::initializer_list<CapabilityTarget> files) {
  if (extent == kNothing || !g_may_switch) return;
  const bool root = acts_as_root(caller);
  const bool beyond_limits =
      extent == kBeyondLimits && (caller.capabilities().over_system() & g_own.permitted & capability(CAP_SYS_RESOURCE)) != 0;
  if (root && caller.gid == 0 && !beyond_limits) return;
  switched_ = true;
  const bool all = extent == kAll || extent == kBeyondLimits;
  if (all) take_groups(caller);
  thread_fsgid(caller.gid);
  thread_fsuid(caller.uid);
  if (root && !beyond_limits) return;
  uint64_t effective = root                   ? ~uint64_t(0)
                       : all                  ? caller.capabilities().over(files)
                       : extent == kWriteBack ? capability(CAP_FSETID)
                                              : 0;
  effective &= beyond_limits ? g_own.permitted : g_own.serving();
  // Changing fsuid to another user clears these capabilities already.
  if (caller.uid != 0 && effective == 0) return;
  capabilities_changed_ = true;
  thread_capabilities(effective);
}

CallerScope::~CallerScope() {
  if (!switched_) return;
  thread_fsuid(0);
  thread_fsgid(0);
  if (capabilities_changed_) thread_capabilities(g_own.serving());
}

ReopenScope::ReopenScope() {
  if (!g_may_switch) thread_capabilities(g_own.permitted);
}

ReopenScope::~ReopenScope() {
  if (!g_may_switch) thread_capabilities(g_own.serving());
}

void thread_umask(mode_t mask) {
  thread_local mode_t current = 0;  // the process's own, see leave_surroundings()
  if (mask == current) return;
  umask(mask);
  current = mask;
}

void prepare_thread(int proc_fd) {
  if (unshare(CLONE_FS) == 0) (void)!fchdir(proc_fd);
  umask(0);  // it begins with that of the worker that made it, which may be just serving a caller
  thread_capabilities(g_own.serving());
}

}  // namespace fsr::shim
