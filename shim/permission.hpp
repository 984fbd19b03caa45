// SPDX-License-Identifier: Apache-2.0
// What can be told about a caller's permission without becoming that caller, which costs more than most requests.
//
// Only ever a yes: whoever gets a no has to ask the lower file system as the caller. Holds for local file systems, where owner,
// mode and access ACL are all there is; one with rules of its own (a server that squashes root) is always asked.
//
// Called by threads that prepare_thread() prepared. Descriptors may be O_PATH.
#pragma once

#include <sys/stat.h>

namespace fsr::shim {

struct Caller;
struct Inode;

// Whether the file lies on a file system that changes through this machine's kernel only and obeys the plain rules.
bool is_local(Inode& inode, int fd);
// When in doubt there is one.
bool has_access_acl(int fd);
// `want`: R_OK, W_OK, X_OK or several. As its owner, or as anybody.
bool plainly_owned(const Caller& caller, const struct stat& s, int want);
bool plainly_allowed(const Caller& caller, Inode& inode, int fd, int want);
// plainly_owned() for a file that has not been looked at.
bool plainly_owned(const Caller& caller, Inode& inode, int fd, int want);

}  // namespace fsr::shim
