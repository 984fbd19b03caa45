// SPDX-License-Identifier: Apache-2.0
// The target `file:DIR`: a directory of the local machine, on any file system.
//
// An operation is performed in one of three ways, so that recorded streams keep their concurrency:
//   within submit()    reads that the page cache answers; buffered writes, as long as the page cache takes them quickly (io_uring
//                      hands each buffered write to a kernel thread on most file systems, at ten times the cost); operations on
//                      names and attributes, and closing. If these block, they delay the other streams of the worker; more
//                      workers help.
//   through io_uring   other read, write, fsync, fdatasync, fallocate on an open handle, also with O_DIRECT, up to 8 MiB
//   on a thread        the same if io_uring is not available or does not fit; copy_file_range, syncfs
// The target asks again for a lock that another owner holds, whenever the target released one and every few milliseconds.
// `file:DIR?direct=1` opens regular files with O_DIRECT if the file system has it. Appends, and reads and writes that are not of
// whole blocks, are performed without O_DIRECT and counted.
//
// `file:DIR?past-cache=1` of a directory on a mounted NFS makes the kernel's client ask its server for each operation
// (tree_past_cache.cpp). `file:DIR?by-path=1` or `?by-path=relative` on a mounted 9P makes it ask for each component of a path
// (objects.hpp). On other file systems these three have no effect.
//
// Files get the recorded mode whatever the umask (no_umask.hpp), because modes are recorded after the umask. If DIR does not
// exist, the first session creates it.
#pragma once

#include "base/target.hpp"

namespace fsr {

extern const TargetPlugin file_plugin;

// Throws std::runtime_error if `url`, of any kind of target, is a directory of this machine that does not exist. Used by programs
// that don't prepare their target, unlike a replay.
void require_directory(const std::string& url);

// Returns the directory of a `file:` URL, or of DIR alone, without options. Throws std::runtime_error.
std::string directory_of(const std::string& url);

}  // namespace fsr
