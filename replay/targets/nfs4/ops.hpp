// SPDX-License-Identifier: Apache-2.0
// Performs operations by COMPOUNDs. ops.cpp says which are exact, approximate and impossible. Each coroutine returns an errno.
// The coroutines are in attr_ops.cpp, name_ops.cpp, open_ops.cpp, data_ops.cpp, commit_ops.cpp, dir_ops.cpp, xattr_ops.cpp and
// lock_ops.cpp.
#pragma once

#include "nfs/access.hpp"
#include "targets/guards.hpp"
#include "targets/nfs4/session.hpp"

namespace fsr::nfs4 {

Fidelity nfs4_fidelity(const Op& op, const Nfs4Client::ServerFeatures& offers, bool privileged);
const char* nfs4_requests(OpKind kind);
Task perform(OpCall& call);

Task do_null(OpCall& call);
Task do_getattr(OpCall& call);
Task do_setattr(OpCall& call);
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
Task do_releasedir(OpCall& call);
Task do_read(OpCall& call);
Task do_write(OpCall& call);
Task do_copy(OpCall& call);
Task do_fallocate(OpCall& call);
Task do_lseek(OpCall& call);
Task do_fsync(OpCall& call);
Task do_flush(OpCall& call);
Task do_fsyncdir(OpCall& call);
Task do_readdir(OpCall& call);
Task do_getxattr(OpCall& call);
Task do_setxattr(OpCall& call);
Task do_listxattr(OpCall& call);
Task do_removexattr(OpCall& call);
Task do_record_lock(OpCall& call);
Task do_flock(OpCall& call);

// --- shared by the operations ---
// Finds the object's file handle. ESTALE: no operation has bound its id.
int find_object(OpCall& call, ObjectId object, FileHandle* handle);
// Finds the directory of the operation's name. Also checks the name.
int find_parent(OpCall& call, FileHandle* dir);
uint32_t allowed_mode(const OpCall& call, uint32_t mode);  // the bits that this target may set
// Stores handle and attributes of an object that was found or created.
void map_result(OpCall& call, const Reply& reply);
// The handle and state with which an operation sends its requests, for an open file or one that is not open.
struct File {
  ObjectId object = kNoObject;
  FileHandle handle;
  Stateid stateid;  // kAnonymous without an open instance
  Identity who;
  uint32_t flags = 0;  // O_*
};
int find_file(OpCall& call, HandleId handle, ObjectId object, File* file);
struct Written {
  uint64_t count = 0;
  Stable committed = Stable::unstable;
  uint64_t verifier = 0;
};
Task write_bytes(OpCall& call, const File& file, uint64_t offset, std::string_view bytes, Stable stable, Written* written);
// Writes again the data of the file that a restarted server lost, unless another operation is doing so.
Task write_lost_again(OpCall& call, const File& file);
// Creates a regular file by OPEN. It stays open if the operation has a handle.
Task create_file(OpCall& call, const FileHandle& dir, std::string_view name, const Attr& set, CreateHow how, FileHandle* made);
Task remove_hidden(OpCall& call, std::vector<nfs::HiddenName>& names);  // failures are counted
Task unlock(OpCall& call, const OpenState& open, const Owner& owner, uint64_t start, uint64_t end);

}  // namespace fsr::nfs4
