// SPDX-License-Identifier: Apache-2.0
// Checks a caller's permissions without taking on the caller's identity, which costs more than most requests.
//
// Only a positive answer is reliable. After a negative one, ask the underlying file system as the caller. The checks are for
// local file systems, where only owner, mode and access ACL count. A file system with rules of its own (a server that squashes
// root) is always asked.
//
// Called by threads that prepare_thread() prepared. Descriptors may be O_PATH.
#pragma once

#include <sys/stat.h>

namespace fsr::shim {

struct Caller;
struct Inode;

// True: the file is on a file system that only this machine's kernel changes, and that has the usual rules for permissions.
bool is_local(Inode& inode, int fd);
// True: the file has an access list, or that can't be found out.
bool has_access_acl(int fd);
// True: mode bits alone allow `want` (R_OK, W_OK, X_OK or several), to the file's owner, or to any user.
bool plainly_owned(const Caller& caller, const struct stat& s, int want);
bool plainly_allowed(const Caller& caller, Inode& inode, int fd, int want);
// Like plainly_owned() above, but reads the attributes of the file. False also for a file that is not local.
bool plainly_owned(const Caller& caller, Inode& inode, int fd, int want);

}  // namespace fsr::shim
