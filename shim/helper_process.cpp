// SPDX-License-Identifier: Apache-2.0
#include "helper_process.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <vector>

namespace fsr::shim {

pid_t start_helper(std::initializer_list<int> kept, const std::function<void()>& work) {
  const pid_t child = fork();
  if (child != 0) return child;
  std::vector<int> keep(kept);
  std::sort(keep.begin(), keep.end());
  unsigned first = 0;
  for (int fd : keep) {
    if (fd < 0) continue;
    if (unsigned(fd) > first) syscall(SYS_close_range, first, unsigned(fd) - 1, 0);
    first = unsigned(fd) + 1;
  }
  syscall(SYS_close_range, first, UINT_MAX, 0);
  setsid();  // a terminal's signals are not for it
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  (void)!chdir("/");
  work();
  _exit(0);
}

}  // namespace fsr::shim
