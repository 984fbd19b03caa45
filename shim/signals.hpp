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

// Blocks the signals that fsshim handles, for all threads that start later. Returns the former state.
SignalState block_signals();
// Returns a signalfd for the signals that end a capture, and for SIGCHLD.
int open_signals();
// Sets the former state again, in a process that is about to execute another program.
void restore_signals(const SignalState& original);

}  // namespace fsr::shim
