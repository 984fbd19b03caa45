// SPDX-License-Identifier: Apache-2.0
#include "credentials.hpp"

#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fsr {

ActAs::ActAs(const Credentials* who) {
  if (!who || who->uid == 0) return;
  // The system call, unlike the library's setgroups(), concerns this thread only.
  thread_local bool groups_dropped = syscall(SYS_setgroups, 0, nullptr) == 0;
  (void)groups_dropped;
  setfsgid(who->gid);
  setfsuid(who->uid);  // removes CAP_DAC_OVERRIDE and similar capabilities from the effective set until the user is root again
  active_ = true;
}

ActAs::~ActAs() {
  if (!active_) return;
  setfsuid(geteuid());
  setfsgid(getegid());
}

}  // namespace fsr
