// SPDX-License-Identifier: Apache-2.0
// Signals that ask a program to end.
#pragma once

#include <atomic>

namespace fsr {

// From now on SIGINT, SIGTERM and SIGHUP are counted, up to 2; what is ignored (nohup, a shell's background job) stays ignored.
// After the second one the next ends the process: a call on a mount whose server is gone waits for nothing less. SIGPIPE is
// ignored. Once in main().
const std::atomic<int>& count_stop_signals();

}  // namespace fsr
