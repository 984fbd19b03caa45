// SPDX-License-Identifier: Apache-2.0
// `file:DIR` - a directory of the local machine, of whatever file system is mounted there.
//
// How an operation is performed, so that recorded streams keep their concurrency:
//   within submit()    reads that the page cache answers and buffered writes that it takes quickly, as long as it does: io_uring
//                      hands each buffered write to a kernel thread on most file systems, at ten times the cost; and operations
//                      on names and attributes, and closing. On a file system where these block they delay the other streams of
//                      the worker; more workers help.
//   through io_uring   other read, write, fsync, fdatasync, fallocate on an open handle, O_DIRECT too, up to 8 MiB
//   on a thread        the same where io_uring is not available or does not fit, copy_file_range, syncfs
// A lock held by somebody else is tried again whenever this target released one, and every few milliseconds.
// `file:DIR?direct=1` opens regular files with O_DIRECT where the file system has it. Reads and writes that are not of whole
// blocks, and appends, are done without it and counted.
//
// `file:DIR?past-cache=1` of a directory on a mounted NFS makes the client ask its server for each operation
// (tree_past_cache.cpp); elsewhere it means nothing.
//
// Files get the recorded mode whatever the umask (no_umask.hpp), because modes are recorded after the umask. DIR is made with the
// first session if it is missing.
#pragma once

#include "base/target.hpp"

namespace fsr {

extern const TargetPlugin file_plugin;

// Throws std::runtime_error if `url`, of any kind of target, is a directory of this machine that does not exist: for programs
// that, unlike a replay, don't prepare their target.
void require_directory(const std::string& url);

}  // namespace fsr
