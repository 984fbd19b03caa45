// SPDX-License-Identifier: Apache-2.0
// Signals that ask a program to end.
#pragma once

#include <signal.h>

#include <atomic>

namespace fsr {

inline constexpr int kEndingSignals[] = {SIGINT, SIGTERM, SIGHUP};

// Counts SIGINT, SIGTERM and SIGHUP from now on, up to 2. Ignored signals (nohup, a shell's background job) stay ignored. The
// third signal ends the process, because no milder one interrupts a call on a mount whose server is gone. Also ignores SIGPIPE.
// Call this once, in main().
const std::atomic<int>& count_stop_signals();
// Returns their number so far, 0 without count_stop_signals(). For code that waits and gets no flag.
const std::atomic<int>& stop_signals();

}  // namespace fsr
