// SPDX-License-Identifier: Apache-2.0
// Performs operations by NFSv3 procedures. nfs3_ops.cpp says which are exact, approximate and impossible. Each coroutine returns
// an errno. The coroutines are in nfs3_attr_ops.cpp, nfs3_name_ops.cpp, nfs3_io_ops.cpp, nfs3_lock_ops.cpp, nfs3_dir_ops.cpp and
// nfs3_lost_reply.cpp.
// file_writes.hpp, lost_data.hpp, names.hpp and lock_request.hpp have the parts that version 4 shares.
#pragma once

#include "nfs/access.hpp"
#include "targets/nfs/file_writes.hpp"
#include "targets/nfs/lock_request.hpp"
#include "targets/nfs/nfs3_session.hpp"

namespace fsr::nfs {

Fidelity nfs3_fidelity(const Op& op, bool locks, bool privileged);  // `locks`: the server has a lock manager
const char* nfs3_requests(OpKind kind);
Task perform(OpCall& call);
// Goes on with an operation that lost a reply and ended with `error`, as lost_reply.hpp says.
Task after_lost_reply(OpCall& call, int error);

using Coroutine = Task(OpCall& call);
Coroutine do_null, do_getattr, do_setattr, do_access, do_readlink, do_statfs, do_lookup, do_create, do_tmpfile, do_mkdir,
    do_mknod, do_symlink, do_link, do_remove, do_rename, do_open, do_release, do_read, do_write, do_copy, do_fallocate, do_fsync,
    do_flush, do_readdir, do_lock;

// --- shared by the operations ---
Task failed(int error);  // an operation that fails without a request
// Finds the object's file handle. ESTALE: no operation has bound its id.
int find_object(OpCall& call, ObjectId object, FileHandle* handle);
// Finds a file by its open instance, or by its object if `handle` is 0. EBADF: there is no such open instance.
int find_file(OpCall& call, HandleId handle, ObjectId object, Open* file);
int find_open(OpCall& call, Open* file);  // the operation's file
// Returns the errno of a name that could leave its directory or is too long. 0: the name may be sent.
int check_name(std::string_view name);
uint32_t allowed_mode(const OpCall& call, uint32_t mode);  // the bits that this target may set
// Handles the last reply of an operation that needs only the attributes from it. Returns its errno.
int finish_plain(OpCall& call, const ClientReply& reply);
Task unlock(OpCall& call, const Open& file, const LockRequest& wish);

// --- requests that the parts shared with version 4 make ---
Task read_piece(Moving<OpCall, Open>& moving, uint64_t offset, uint32_t size, Transfer::ChunkResult* moved);
Task write_bytes(OpCall& call, const Open& file, uint64_t offset, std::string_view bytes, Stable stable, Written* written,
                 const DataSource* lost = nullptr);
Task commit_once(OpCall& call, const Open& file, uint64_t* verifier);
Task size_of(OpCall& call, const Open& file, uint64_t* size);
Task set_size(OpCall& call, const Open& file, uint64_t size);
Task rename_name(OpCall& call, const FileHandle& from, std::string_view name, const FileHandle& to, std::string_view name2);
Task find_name(OpCall& call, const FileHandle& dir, std::string_view name);
Task make_whiteout(OpCall& call, const FileHandle& dir);  // under the operation's name
Task remove_hidden_name(OpCall& call, const HiddenName& name);

}  // namespace fsr::nfs
