// SPDX-License-Identifier: Apache-2.0
// The signals that end a capture, and how a command gets back those that were there before.
//
// A signal that was ignored when the program started stays ignored, in the capture and in its command. This is what nohup and
// background jobs of a shell depend on. One thread.
#pragma once

#include <csignal>

namespace fsr::shim {

struct SignalState {
  sigset_t blocked, ignored;
};

// In the whole process if called before any thread starts. Returns what was there.
SignalState block_signals();
// A signalfd of what ends a capture, and of SIGCHLD.
int open_signals();
// In a process that is to execute something else.
void restore_signals(const SignalState& original);

}  // namespace fsr::shim
