// SPDX-License-Identifier: Apache-2.0
// Performs operations by NFSv3 procedures. nfs3_ops.cpp says which are exact, approximate and impossible. The state machines are
// in nfs3_attr_ops.cpp, nfs3_name_ops.cpp, nfs3_io_ops.cpp, nfs3_commit_ops.cpp, nfs3_lock_ops.cpp and nfs3_dir_ops.cpp.
#pragma once

#include "nfs/access.hpp"
#include "targets/nfs/nfs3_session.hpp"

namespace fsr::nfs {

Fidelity nfs3_fidelity(const Op& op, bool locks, bool privileged);  // `locks`: the server has a lock manager
const char* nfs3_requests(OpKind kind);
void start_operation(OpCall& call);

// --- the state machines: each starts one kind of operation ---
void start_null(OpCall& call);
void start_getattr(OpCall& call);
void start_setattr(OpCall& call);
void start_fallocate(OpCall& call);
void start_access(OpCall& call);
void start_readlink(OpCall& call);
void start_statfs(OpCall& call);

void start_lookup(OpCall& call);
void start_create(OpCall& call);
void start_tmpfile(OpCall& call);
void start_mkdir(OpCall& call);
void start_mknod(OpCall& call);
void start_symlink(OpCall& call);
void start_link(OpCall& call);
void start_unlink(OpCall& call);
void start_rmdir(OpCall& call);
void start_rename(OpCall& call);

void start_open(OpCall& call);
void start_read(OpCall& call);
void start_write(OpCall& call);
void start_copy(OpCall& call);
void start_fsync(OpCall& call);
void start_flush(OpCall& call);
void start_release(OpCall& call);

void start_readdir(OpCall& call);

void start_record_lock(OpCall& call);
void start_flock(OpCall& call);

// --- shared by the operations ---
// Finds the object's file handle. False: no operation has bound its id, and the call is finished with ESTALE.
bool find_object(OpCall& call, ObjectId object, FileHandle* handle);
// Finds the file of an operation, with or without a handle. False: there is none, and the call is finished.
bool find_open(OpCall& call, Open* open);
// Checks a name. False: it could leave its directory or is too long, and the call is finished.
bool check_name(OpCall& call, std::string_view name);
// Returns the bits of `mode` that this target may set.
uint32_t allowed_mode(const OpCall& call, uint32_t mode);
// Handles the last reply of an operation that needs only the attributes from it.
void finish_plain(OpCall& call, const Rpc& rpc, const Reply& reply, int error);
// Writes again the data of call.object that a restarted server lost, then calls `then`.
void write_again(OpCall& call, void (*then)(OpCall& call, int error));
// Requests the lock session->again(piece) again. Ends with lock_had_again().
void reclaim_lock(OpCall& call, uint32_t piece);
// Releases all locks of the owner on call.object, then calls `then`. False: it has none.
bool unlock_all(OpCall& call, LockOwner owner, void (*then)(OpCall& call, int error));
// Removes the names in call.hidden one after another, then finishes the call with call.error.
void remove_hidden(OpCall& call);

}  // namespace fsr::nfs
