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

using Coroutine = Task(OpCall& call);
Coroutine do_null, do_getattr, do_setattr, do_fallocate, do_access, do_readlink, do_statfs, do_lookup, do_mkdir, do_mknod,
    do_symlink, do_link, do_remove, do_rename, do_open, do_opendir, do_create, do_tmpfile, do_release, do_read, do_write, do_copy,
    do_fsync, do_fsyncdir, do_syncfs, do_flush, do_readdir, do_getxattr, do_setxattr, do_listxattr, do_removexattr,
    do_record_lock, do_flock;

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

// --- for settle() in lost_reply.hpp ---
Task see(OpCall& call, ObjectId directory, std::string_view name, Sighting* seen);
Task take_as_done(OpCall& call);

}  // namespace fsr::afp
