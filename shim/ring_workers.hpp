// SPDX-License-Identifier: Apache-2.0
// Workers of io_uring: threads that the kernel adds to a process, and that perform requests with the credentials of the thread
// that asked for them, but answer capget(2) and /proc with their own, which are those of when they were made.
#pragma once

#include <sys/types.h>

namespace fsr::shim {

// The thread that asked for what this thread does now: another one of its process for a worker, which has its number in its name
// ("iou-wrk-4711", io_uring/io-wq.c), else itself. Waits for nobody. Any thread.
pid_t requester_of(pid_t tid);

}  // namespace fsr::shim
