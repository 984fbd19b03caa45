// SPDX-License-Identifier: Apache-2.0
// Workers of io_uring: threads that the kernel adds to a process. They perform requests with the credentials of the requesting
// thread. But capget(2) and /proc show the worker's own credentials, those of the time when it was made.
#pragma once

#include <sys/types.h>

namespace fsr::shim {

// Returns the thread that requested the work of thread `tid`. For a worker that is another thread of its process, whose number is
// in the worker's name ("iou-wrk-4711", io_uring/io-wq.c); else `tid` itself. Never blocks. Any thread.
pid_t requester_of(pid_t tid);

}  // namespace fsr::shim
