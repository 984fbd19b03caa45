// SPDX-License-Identifier: Apache-2.0
// Performs operations by 9P requests. ops.cpp says which are exact, approximate and impossible in each dialect. Each coroutine
// returns an errno. The coroutines are in attr_ops.cpp, name_ops.cpp, open_ops.cpp, data_ops.cpp, dir_ops.cpp, xattr_ops.cpp,
// lock_ops.cpp and lost_reply.cpp.
#pragma once

#include "targets/guards.hpp"
#include "targets/ninep/session.hpp"

namespace fsr::ninep {

struct ServerCapabilities {
  Dialect dialect = Dialect::l;
  bool xattrs = false;  // the server has extended attributes
  bool privileged = false;
};

Fidelity ninep_fidelity(const Op& op, const ServerCapabilities& abilities);
const char* ninep_requests(OpKind kind);
Task perform(OpCall& call);

using Coroutine = Task(OpCall& call);
Coroutine do_null, do_getattr, do_setattr, do_fallocate, do_access, do_readlink, do_statfs, do_lookup, do_mkdir, do_mknod,
    do_symlink, do_link, do_remove, do_rename, do_open, do_create, do_tmpfile, do_release, do_read, do_write, do_copy, do_fsync,
    do_flush, do_readdir, do_getxattr, do_setxattr, do_listxattr, do_removexattr, do_record_lock, do_flock;

// --- shared by the operations ---
uint32_t allowed_mode(const OpCall& call, uint32_t mode);  // the bits that this target may set
// Converts allowed bits for Tcreate and Twstat. 9P2000.u has other numbers for the set-id bits, and 9P2000 has no such bits.
uint32_t plan9_permissions(const OpCall& call, uint32_t mode);
// Finds the fid for a request on the operation's object. If the object has no name any more, it is the fid of the open file, as
// with fstat(2) and ftruncate(2). Otherwise the name is used, because servers that keep paths lose an open file after its rename.
Task find_object(OpCall& call, FidRef* fid);
Task stat(OpCall& call, FidRef fid, Attr* attr);
// Writes zeros to the operation's file, from its offset on.
Task write_zeros(OpCall& call, uint64_t length);
// Sends Tcreate on a copy of the directory's fid, which then is the fid of the new, open object (9P2000 and .u).
Task create_in(OpCall& call, FidRef dir, std::string_view name, uint32_t mode, uint8_t open_mode, std::string_view extension,
               FidRef* made);
Task open_copy(OpCall& call, FidRef fid, uint32_t flags, FidRef* opened);
Task open_made(OpCall& call);  // opens the file that the operation, a create, has made before
Task walk_one(OpCall& call, FidRef dir, std::string_view name, FidRef* found);
Task read_link(OpCall& call, FidRef link, std::string* text);
// Members of a Twstat (9P2000 and .u). A member with its default value is not changed.
struct Wstat {
  uint32_t mode = UINT32_MAX, atime = UINT32_MAX, mtime = UINT32_MAX;
  uint64_t size = UINT64_MAX;
  std::string_view name;
  uint32_t uid = kNoUid, gid = kNoUid;
};
Task wstat(OpCall& call, FidRef fid, Wstat set, bool harmless);
Task remove_hidden(OpCall& call, ObjectId parent, const std::string& name);  // a failure is counted
// Releases all locks of `owner` on the server.
Task unlock_all(OpCall& call, ObjectId object, uint64_t owner);
Task unlock_through(OpCall& call, ObjectId object, HandleId handle);  // releases the locks set through the open instance

// --- for settle() in lost_reply.hpp ---
Task see(OpCall& call, ObjectId directory, std::string_view name, Sighting* seen);
Task take_as_done(OpCall& call);

}  // namespace fsr::ninep
