// SPDX-License-Identifier: Apache-2.0
#include "ended_threads.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace fsr::shim {

// Signal 0 needs no descriptor, and sees threads that /proc hides (hidepid): for them it fails with EPERM.
bool thread_ended(pid_t tid) { return syscall(SYS_tkill, tid, 0) != 0 && errno == ESRCH; }

}  // namespace fsr::shim
