// SPDX-License-Identifier: Apache-2.0
// Operations as 9P requests: what is exact, approximate and impossible in each dialect stands in ops.cpp, how each is done in
// attr_ops.cpp, name_ops.cpp, open_ops.cpp, data_ops.cpp, dir_ops.cpp, xattr_ops.cpp and lock_ops.cpp. Each yields the errno.
#pragma once

#include "targets/guards.hpp"
#include "targets/ninep/session.hpp"

namespace fsr::ninep {

struct ServerCapabilities {
  Dialect dialect = Dialect::l;
  bool xattrs = false;  // the server has some
  bool privileged = false;
};

Fidelity ninep_fidelity(const Op& op, const ServerCapabilities& abilities);
const char* ninep_requests(OpKind kind);
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
Task do_create(Call& call);
Task do_tmpfile(Call& call);
Task do_release(Call& call);
Task do_read(Call& call);
Task do_write(Call& call);
Task do_copy(Call& call);
Task do_fsync(Call& call);
Task do_flush(Call& call);
Task do_readdir(Call& call);
Task do_getxattr(Call& call);
Task do_setxattr(Call& call);
Task do_listxattr(Call& call);
Task do_removexattr(Call& call);
Task do_record_lock(Call& call);
Task do_flock(Call& call);

// --- what they share ---
uint32_t allowed_mode(const Call& call, uint32_t mode);  // the bits that this target may set
// Those bits as Tcreate and Twstat have them: 9P2000.u has the set-id bits elsewhere, 9P2000 has none.
uint32_t plan9_permissions(const Call& call, uint32_t mode);
// Whom a request about the operation's object goes through: the open file itself, as fstat(2) and ftruncate(2) do, where the
// object has no fid of its own any more. Not otherwise: servers that keep paths lose an open file that was renamed.
Task find_object(Call& call, FidRef* fid);
Task stat(Call& call, FidRef fid, Attr* attr);
// From the operation's offset on, in its file.
Task write_zeros(Call& call, uint64_t length);
// Tcreate in a copy of the directory's fid, which becomes that of what was made, open (9P2000 and .u).
Task create_in(Call& call, FidRef dir, std::string_view name, uint32_t mode, uint8_t open_mode, std::string_view extension,
               FidRef* made);
Task open_copy(Call& call, FidRef fid, uint32_t flags, FidRef* opened);
// Twstat of everything but what is given (9P2000 and .u).
struct Wstat {
  uint32_t mode = UINT32_MAX, atime = UINT32_MAX, mtime = UINT32_MAX;
  uint64_t size = UINT64_MAX;
  std::string_view name;
  uint32_t uid = kNoUid, gid = kNoUid;
};
Task wstat(Call& call, FidRef fid, Wstat set, bool harmless);
Task remove_hidden(Call& call, ObjectId parent, const std::string& name);  // a failure is counted
// Tells the server that the owner's locks, or all of them, are gone.
Task unlock_all(Call& call, ObjectId object, uint64_t owner);
Task unlock_through(Call& call, ObjectId object, HandleId handle);  // whatever was locked through the open instance

}  // namespace fsr::ninep
