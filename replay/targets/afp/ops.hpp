// SPDX-License-Identifier: Apache-2.0
// Performs operations by AFP commands. ops.cpp says which are exact, approximate and impossible. Each coroutine returns an errno.
// The coroutines are in *_ops.cpp, and those that remove names in removal.cpp.
#pragma once

#include "targets/afp/session.hpp"

namespace fsr::afp {

struct ServerCapabilities {
  bool xattrs = false;  // from AFP 3.2 on
  bool privileged = false;
};

Fidelity afp_fidelity(const Op& op, const ServerCapabilities& abilities);
const char* afp_requests(OpKind kind);
Task perform(OpCall& call);

Task do_null(OpCall& call);
Task do_getattr(OpCall& call);
Task do_setattr(OpCall& call);
Task do_fallocate(OpCall& call);
Task do_access(OpCall& call);
Task do_readlink(OpCall& call);
Task do_statfs(OpCall& call);
Task do_lookup(OpCall& call);
Task do_mkdir(OpCall& call);
Task do_mknod(OpCall& call);
Task do_symlink(OpCall& call);
Task do_link(OpCall& call);
Task do_remove(OpCall& call);
Task do_rename(OpCall& call);
Task do_open(OpCall& call);
Task do_opendir(OpCall& call);
Task do_create(OpCall& call);
Task do_tmpfile(OpCall& call);
Task do_release(OpCall& call);
Task do_read(OpCall& call);
Task do_write(OpCall& call);
Task do_copy(OpCall& call);
Task do_fsync(OpCall& call);
Task do_fsyncdir(OpCall& call);
Task do_syncfs(OpCall& call);
Task do_flush(OpCall& call);
Task do_readdir(OpCall& call);
Task do_getxattr(OpCall& call);
Task do_setxattr(OpCall& call);
Task do_listxattr(OpCall& call);
Task do_removexattr(OpCall& call);
Task do_record_lock(OpCall& call);
Task do_flock(OpCall& call);

// --- shared by the operations ---
// Returns the errno of a name that could leave its directory or is too long. 0: the name is valid.
int name_problem(std::string_view name);
uint32_t allowed_mode(const OpCall& call, uint32_t mode);  // the bits that this target may set
uint16_t access_mode(uint32_t open_flags);
Task stat(OpCall& call, const NameInDirectory& entry, uint16_t file_bits, uint16_t dir_bits, Parms* parms);
Task set_mode(OpCall& call, const NameInDirectory& entry, uint32_t mode);
Task set_size(OpCall& call, ForkRef fork, uint64_t size);
// Sends FPCreateFile, which fails if the name exists.
Task create_file(OpCall& call, uint32_t did, std::string_view name);
Task make_file(OpCall& call, const NameInDirectory& entry);  // creates the operation's file, unless an earlier attempt has
Task open_at(OpCall& call, const NameInDirectory& entry, uint16_t access, ForkRef* fork);
Task move(OpCall& call, const NameInDirectory& from, const NameInDirectory& to);
Task copy_file(OpCall& call, const NameInDirectory& from, const NameInDirectory& to);
Task remove_entry(OpCall& call, const NameInDirectory& entry);
// Removes a name of an object. An open file that has no other name gets a hidden one. `parent` and `name`: the recorded ones of
// `entry`.
Task remove_or_hide(OpCall& call, const NameInDirectory& entry, ObjectId object, ObjectId parent, std::string_view name);
Task write_all(OpCall& call, ForkRef fork, std::string_view bytes);
// Writes zeros to the operation's file, from its offset on.
Task write_zeros(OpCall& call, uint64_t length);
Task remove_hidden(OpCall& call, const std::string& name);  // a failure is counted
// Makes the server's locks of the object equal to the locks here.
Task settle_locks(OpCall& call, ObjectId object);

}  // namespace fsr::afp
