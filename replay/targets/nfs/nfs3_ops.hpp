// SPDX-License-Identifier: Apache-2.0
// Performs operations by NFSv3 procedures. nfs3_ops.cpp says which are exact, approximate and impossible. The state machines are
// in nfs3_attr_ops.cpp, nfs3_name_ops.cpp, nfs3_io_ops.cpp, nfs3_commit_ops.cpp, nfs3_lock_ops.cpp and nfs3_dir_ops.cpp.
#pragma once

#include "nfs/access.hpp"
#include "targets/nfs/nfs3_session.hpp"

namespace fsr::nfs {

Fidelity nfs3_fidelity(const Op& op, bool locks, bool privileged);  // `locks`: the server has a lock manager
const char* nfs3_requests(OpKind kind);
void start_operation(Call& call);

// --- the state machines: each starts one kind of operation ---
void start_null(Call& call);
void start_getattr(Call& call);
void start_setattr(Call& call);
void start_fallocate(Call& call);
void start_access(Call& call);
void start_readlink(Call& call);
void start_statfs(Call& call);

void start_lookup(Call& call);
void start_create(Call& call);
void start_tmpfile(Call& call);
void start_mkdir(Call& call);
void start_mknod(Call& call);
void start_symlink(Call& call);
void start_link(Call& call);
void start_unlink(Call& call);
void start_rmdir(Call& call);
void start_rename(Call& call);

void start_open(Call& call);
void start_read(Call& call);
void start_write(Call& call);
void start_copy(Call& call);
void start_fsync(Call& call);
void start_flush(Call& call);
void start_release(Call& call);

void start_readdir(Call& call);

void start_record_lock(Call& call);
void start_flock(Call& call);

// --- shared by the operations ---
// Finds the object's file handle. False: no operation has bound its id, and the call is finished with ESTALE.
bool find_object(Call& call, ObjectId object, FileHandle* handle);
// Finds the file of an operation, with or without a handle. False: there is none, and the call is finished.
bool find_open(Call& call, Open* open);
// Checks a name. False: it could leave its directory or is too long, and the call is finished.
bool check_name(Call& call, std::string_view name);
// Returns the bits of `mode` that this target may set.
uint32_t allowed_mode(const Call& call, uint32_t mode);
// Handles the last reply of an operation that needs only the attributes from it.
void finish_plain(Call& call, const Rpc& rpc, const Reply& reply, int error);
// Writes again the data of call.object that a restarted server lost, then calls `then`.
void write_again(Call& call, void (*then)(Call& call, int error));
// Requests the lock session->again(piece) again. Ends with lock_had_again().
void reclaim_lock(Call& call, uint32_t piece);
// Releases all locks of the owner on call.object, then calls `then`. False: it has none.
bool unlock_all(Call& call, LockOwner owner, void (*then)(Call& call, int error));
// Removes the names in call.hidden one after another, then finishes the call with call.error.
void remove_hidden(Call& call);

}  // namespace fsr::nfs
