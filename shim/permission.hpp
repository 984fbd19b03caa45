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

// Whether the file lies on a file system that changes through this machine's kernel only and obeys the plain rules.
bool is_local(Inode& inode, int fd);
// True also if it can't be found out.
bool has_access_acl(int fd);
// `want`: R_OK, W_OK, X_OK or several. Checked as its owner, or as any user.
bool plainly_owned(const Caller& caller, const struct stat& s, int want);
bool plainly_allowed(const Caller& caller, Inode& inode, int fd, int want);
// plainly_owned() for a file that has not been looked at.
bool plainly_owned(const Caller& caller, Inode& inode, int fd, int want);

}  // namespace fsr::shim
