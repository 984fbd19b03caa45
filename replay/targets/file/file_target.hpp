// SPDX-License-Identifier: Apache-2.0
// `file:DIR` - a directory of the local machine, of whatever file system is mounted there.
//
// How an operation is performed, so that recorded streams keep their concurrency:
//   through io_uring   read, write, fsync, fdatasync, fallocate on an open handle (not O_DIRECT, not above 8 MiB)
//   on a thread        the same where io_uring is not available or does not fit, copy_file_range, syncfs
//   within submit()    everything else: operations on names and attributes, and closing. On a file system where these block they
//                      delay the other streams of the worker; more workers help.
// A lock held by somebody else is tried again whenever this target released one, and every few milliseconds.
// `file:DIR?direct=1` opens regular files with O_DIRECT where the file system has it. Reads and writes that are not of whole
// blocks, and appends, are done without it and counted.
//
// Opening the target sets the process's umask to 0: modes are recorded after the umask. DIR is made with the first session if it
// is missing.
#pragma once

#include "targets/target.hpp"

namespace fsr {

extern const TargetPlugin file_plugin;

}  // namespace fsr
