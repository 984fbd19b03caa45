// SPDX-License-Identifier: Apache-2.0
#include "signals.hpp"

#include <sys/signalfd.h>

#include <initializer_list>

namespace fsr::shim {

namespace {

constexpr int kEndings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr int kChanged[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ};

bool ignored(int number) {
  struct sigaction action;
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// A blocked signal would be kept for a signalfd even if it is ignored.
sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (int number : kEndings)
    if (!ignored(number)) sigaddset(&set, number);
  return set;
}

}  // namespace

SignalState block_signals() {
  SignalState original;
  sigemptyset(&original.ignored);
  for (int number : kChanged)
    if (ignored(number)) sigaddset(&original.ignored, number);
  signal(SIGCHLD, SIG_DFL);  // ignored, it would keep the status of children from us
  sigset_t set = handled_signals();
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, &original.blocked);
  // A full pipe's end and a file size limit are errors to be passed on, not ours to die of.
  for (int number : {SIGPIPE, SIGXFSZ}) signal(number, SIG_IGN);
  return original;
}

int open_signals() {
  sigset_t set = handled_signals();
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void restore_signals(const SignalState& original) {
  for (int number : kChanged) signal(number, sigismember(&original.ignored, number) ? SIG_IGN : SIG_DFL);
  sigprocmask(SIG_SETMASK, &original.blocked, nullptr);
}

}  // namespace fsr::shim
