// SPDX-License-Identifier: Apache-2.0
// Performs operations by AFP commands. ops.cpp says which are exact, approximate and impossible. Each coroutine returns an errno.
// The coroutines are in attr_ops.cpp, name_ops.cpp, open_ops.cpp, data_ops.cpp, dir_ops.cpp, xattr_ops.cpp and lock_ops.cpp.
#pragma once

#include "targets/afp/session.hpp"

namespace fsr::afp {

struct ServerCapabilities {
  bool xattrs = false;  // from AFP 3.2 on
  bool privileged = false;
};

Fidelity afp_fidelity(const Op& op, const ServerCapabilities& abilities);
const char* afp_requests(OpKind kind);
Task perform(Call& call);

Task do_null(Call& call);
Task do_getattr(Call& call);
Task do_setattr(Call& call);
Task do_fallocate(Call& call);
Task do_access(Call& call);
Task do_readlink(Call& call);
Task do_statfs(Call& call);
Task do_lookup(Call& call);
Task do_mkdir(Call& call);
Task do_mknod(Call& call);
Task do_symlink(Call& call);
Task do_link(Call& call);
Task do_remove(Call& call);
Task do_rename(Call& call);
Task do_open(Call& call);
Task do_opendir(Call& call);
Task do_create(Call& call);
Task do_tmpfile(Call& call);
Task do_release(Call& call);
Task do_read(Call& call);
Task do_write(Call& call);
Task do_copy(Call& call);
Task do_fsync(Call& call);
Task do_fsyncdir(Call& call);
Task do_syncfs(Call& call);
Task do_flush(Call& call);
Task do_readdir(Call& call);
Task do_getxattr(Call& call);
Task do_setxattr(Call& call);
Task do_listxattr(Call& call);
Task do_removexattr(Call& call);
Task do_record_lock(Call& call);
Task do_flock(Call& call);

// --- shared by the operations ---
// Returns the errno of a name that could leave its directory or is too long. 0: the name is valid.
int name_problem(std::string_view name);
uint32_t allowed_mode(const Call& call, uint32_t mode);  // the bits that this target may set
uint16_t access_mode(uint32_t open_flags);
Task stat(Call& call, const NameInDirectory& place, uint16_t file_bits, uint16_t dir_bits, Parms* parms);
Task set_mode(Call& call, const NameInDirectory& place, uint32_t mode);
Task set_size(Call& call, ForkRef fork, uint64_t size);
// Sends FPCreateFile, which fails if the name exists.
Task create_file(Call& call, uint32_t did, std::string_view name);
Task make_file(Call& call, const NameInDirectory& place);  // creates the operation's file, unless an earlier attempt has
Task open_at(Call& call, const NameInDirectory& place, uint16_t access, ForkRef* fork);
Task remove_place(Call& call, const NameInDirectory& place);
Task write_all(Call& call, ForkRef fork, std::string_view bytes);
// Writes zeros to the operation's file, from its offset on.
Task write_zeros(Call& call, uint64_t length);
Task remove_hidden(Call& call, const std::string& name);  // a failure is counted
// Makes the server's locks of the object equal to the locks here.
Task settle_locks(Call& call, ObjectId object);

}  // namespace fsr::afp
