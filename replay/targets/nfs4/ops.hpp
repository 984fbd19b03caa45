// SPDX-License-Identifier: Apache-2.0
// Performs operations by COMPOUNDs. ops.cpp says which are exact, approximate and impossible. Each coroutine returns an errno.
// The coroutines are in attr_ops.cpp, name_ops.cpp, open_ops.cpp, data_ops.cpp, dir_ops.cpp, xattr_ops.cpp, lock_ops.cpp and
// lost_reply.cpp. Version 3 shares the parts in nfs/.
#pragma once

#include "nfs/access.hpp"
#include "targets/guards.hpp"
#include "targets/lost_reply.hpp"
#include "targets/nfs/file_writes.hpp"
#include "targets/nfs4/session.hpp"

namespace fsr::nfs4 {

Fidelity nfs4_fidelity(const Op& op, const Nfs4Client::ServerFeatures& offers, bool privileged);
const char* nfs4_requests(OpKind kind);
Task perform(OpCall& call);

using Coroutine = Task(OpCall& call);
Coroutine do_null, do_getattr, do_setattr, do_access, do_readlink, do_statfs, do_lookup, do_mkdir, do_mknod, do_symlink, do_link,
    do_remove, do_rename, do_open, do_opendir, do_create, do_tmpfile, do_release, do_releasedir, do_read, do_write, do_copy,
    do_fallocate, do_lseek, do_fsync, do_flush, do_fsyncdir, do_readdir, do_getxattr, do_setxattr, do_listxattr, do_removexattr,
    do_lock;

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
// Creates a regular file by OPEN. It stays open if the operation has a handle.
Task create_file(OpCall& call, const FileHandle& dir, std::string_view name, const Attr& set, CreateHow how, FileHandle* made);
// Returns the open instance through which this client asks for the owner's locks.
HandleId open_for_locks(OpCall& call, const Owner& owner);
Task unlock(OpCall& call, const OpenState& open, const Owner& owner, uint64_t start, uint64_t end);

// --- for settle() in lost_reply.hpp ---
Task see(OpCall& call, ObjectId directory, std::string_view name, Sighting* seen);
Task take_as_done(OpCall& call);

// --- requests that the parts shared with version 3 make ---
using nfs::Written;
Task read_piece(nfs::Moving<OpCall, File>& moving, uint64_t offset, uint32_t size, Transfer::ChunkResult* moved);
Task write_bytes(OpCall& call, const File& file, uint64_t offset, std::string_view bytes, Stable stable, Written* written,
                 const nfs::DataSource* lost = nullptr);
Task commit_once(OpCall& call, const File& file, uint64_t* verifier);
Task size_of(OpCall& call, const File& file, uint64_t* size);
Task set_size(OpCall& call, const File& file, uint64_t size);
Task rename_name(OpCall& call, const FileHandle& from, std::string_view name, const FileHandle& to, std::string_view name2);
Task find_name(OpCall& call, const FileHandle& dir, std::string_view name);
Task make_whiteout(OpCall& call, const FileHandle& dir);  // under the operation's name
Task remove_hidden_name(OpCall& call, const nfs::HiddenName& name);

}  // namespace fsr::nfs4
