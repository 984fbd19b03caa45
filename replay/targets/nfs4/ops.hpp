// SPDX-License-Identifier: Apache-2.0
// Performs operations by COMPOUNDs. ops.cpp says which are exact, approximate and impossible. Each coroutine returns an errno.
// The coroutines are in attr_ops.cpp, name_ops.cpp, open_ops.cpp, data_ops.cpp, commit_ops.cpp, dir_ops.cpp, xattr_ops.cpp and
// lock_ops.cpp.
#pragma once

#include "nfs/access.hpp"
#include "targets/guards.hpp"
#include "targets/nfs4/session.hpp"

namespace fsr::nfs4 {

Fidelity nfs4_fidelity(const Op& op, const Client::ServerFeatures& offers, bool privileged);
const char* nfs4_requests(OpKind kind);
Task perform(Call& call);

Task do_null(Call& call);
Task do_getattr(Call& call);
Task do_setattr(Call& call);
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
Task do_releasedir(Call& call);
Task do_read(Call& call);
Task do_write(Call& call);
Task do_copy(Call& call);
Task do_fallocate(Call& call);
Task do_lseek(Call& call);
Task do_fsync(Call& call);
Task do_flush(Call& call);
Task do_fsyncdir(Call& call);
Task do_readdir(Call& call);
Task do_getxattr(Call& call);
Task do_setxattr(Call& call);
Task do_listxattr(Call& call);
Task do_removexattr(Call& call);
Task do_record_lock(Call& call);
Task do_flock(Call& call);

// --- shared by the operations ---
// Finds the object's file handle. ESTALE: no operation has bound its id.
int find_object(Call& call, ObjectId object, FileHandle* handle);
// Finds the directory of the operation's name. Also checks the name.
int find_parent(Call& call, FileHandle* dir);
uint32_t allowed_mode(const Call& call, uint32_t mode);  // the bits that this target may set
// Stores handle and attributes of an object that was found or created.
void taught(Call& call, const Reply& reply);
// The handle and state with which an operation sends its requests, for an open file or one that is not open.
struct File {
  ObjectId object = kNoObject;
  FileHandle handle;
  Stateid stateid;  // kAnonymous without an open instance
  Identity who;
  uint32_t flags = 0;  // O_*
};
int find_file(Call& call, HandleId handle, ObjectId object, File* file);
struct Written {
  uint64_t count = 0;
  Stable committed = Stable::unstable;
  uint64_t verifier = 0;
};
Task write_bytes(Call& call, const File& file, uint64_t offset, std::string_view bytes, Stable stable, Written* written);
// Writes again the data of the file that a restarted server lost, unless another operation is doing so.
Task write_lost_again(Call& call, const File& file);
// Creates a regular file by OPEN. It stays open if the operation has a handle.
Task create_file(Call& call, const FileHandle& dir, std::string_view name, const Attr& set, CreateHow how, FileHandle* made);
Task remove_hidden(Call& call, std::vector<nfs::HiddenName>& names);  // failures are counted
Task unlock(Call& call, const OpenState& open, const Owner& owner, uint64_t start, uint64_t end);

}  // namespace fsr::nfs4
