// SPDX-License-Identifier: Apache-2.0
#include "util/stop_signals.hpp"

namespace fsr {

namespace {

std::atomic<int> stop{0};  // lock-free: set from the handler

void on_signal(int) {
  struct sigaction now;
  if (stop.load() != 0)
    for (int number : kEndingSignals)
      if (sigaction(number, nullptr, &now) == 0 && now.sa_handler == on_signal) signal(number, SIG_DFL);
  stop.store(stop.load() == 0 ? 1 : 2);
}

}  // namespace

const std::atomic<int>& stop_signals() { return stop; }

const std::atomic<int>& count_stop_signals() {
  struct sigaction action = {}, before;
  action.sa_handler = on_signal;
  for (int number : kEndingSignals)
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return stop;
}

}  // namespace fsr
