// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs4/ops.hpp"

#include <errno.h>
#include <linux/falloc.h>
#include <sys/stat.h>

#include <array>

#include "clone.hpp"
#include "targets/plain_fallocate.hpp"
#include "targets/posix_acl.hpp"
#include "targets/rename_flags.hpp"

namespace fsr::nfs4 {

namespace {

struct Rule {
  Fidelity fidelity = Fidelity::impossible;
  Coroutine* run = nullptr;
  const char* requests = "";
};

// The rules for each kind of operation. Each COMPOUND begins with SEQUENCE, and PUTFH for the file. A kind without a rule is
// impossible: version 4 has no ioctl and no sync of a file system. Operations of 4.2 depend on the server.
constexpr std::array<Rule, kOpKinds> rules() {
  std::array<Rule, kOpKinds> r{};
  auto set = [&](OpKind kind, Coroutine* run, const char* requests) { r[unsigned(kind)] = {Fidelity::exact, run, requests}; };
  set(OpKind::null, do_null, "SEQUENCE");
  set(OpKind::lookup, do_lookup, "LOOKUP GETFH GETATTR");
  set(OpKind::getattr, do_getattr, "GETATTR");
  set(OpKind::statx, do_getattr, "GETATTR");
  set(OpKind::setattr, do_setattr, "SETATTR GETATTR");
  set(OpKind::access, do_access, "ACCESS");
  set(OpKind::readlink, do_readlink, "READLINK");
  set(OpKind::open, do_open, "OPEN (CLAIM_FH) GETATTR; with O_TRUNC also SETATTR");
  set(OpKind::create, do_create, "OPEN (CLAIM_NULL; UNCHECKED, or with O_EXCL EXCLUSIVE4_1 and then SETATTR) GETFH GETATTR");
  set(OpKind::tmpfile, do_tmpfile, "OPEN (GUARDED) GETFH GETATTR, by a hidden name");
  set(OpKind::read, do_read, "READ, with read-plus=1 READ_PLUS, as many as the session's and the server's limits ask for");
  set(OpKind::write, do_write, "WRITE, as many as the limits ask for: UNSTABLE, or as O_SYNC and O_DSYNC ask");
  set(OpKind::copy_file_range, do_copy, "COPY; if the server has no COPY: READ, WRITE; of a clone: CLONE, else it is impossible");
  set(OpKind::fallocate, do_fallocate, "ALLOCATE, DEALLOCATE; 4.1: GETATTR, SETATTR of the size where it grows, WRITE of zeros");
  set(OpKind::lseek, do_lseek, "SEEK");
  set(OpKind::fsync, do_fsync, "COMMIT if there are UNSTABLE writes or no open file, else nothing");
  set(OpKind::flush, do_flush, "LOCKU if the owner has locks, else nothing: fsyncs were recorded");
  set(OpKind::release, do_release, "CLOSE; REMOVE of hidden names (auxiliary)");
  set(OpKind::opendir, do_opendir, "ACCESS");
  set(OpKind::readdir, do_readdir, "READDIR, as many as the recorded number of entries takes");
  set(OpKind::readdirplus, do_readdir, "READDIR with all attributes, as many as the recorded number of entries takes");
  set(OpKind::releasedir, do_releasedir, "nothing");
  set(OpKind::fsyncdir, do_fsyncdir, "nothing: version 4 changes names synchronously");
  set(OpKind::mkdir, do_mkdir, "CREATE GETFH GETATTR");
  set(OpKind::mknod, do_mknod, "CREATE GETFH GETATTR; of a regular file: OPEN (GUARDED) GETFH GETATTR CLOSE");
  set(OpKind::symlink, do_symlink, "CREATE GETFH GETATTR");
  set(OpKind::link, do_link, "SAVEFH PUTFH LINK RESTOREFH GETATTR");
  set(OpKind::unlink, do_remove, "REMOVE; while open: RENAME to a hidden name");
  set(OpKind::rmdir, do_remove, "REMOVE");
  set(OpKind::rename, do_rename,
      "SAVEFH PUTFH RENAME; over an open file: first RENAME of that (auxiliary); NOREPLACE: LOOKUP, RENAME");
  set(OpKind::statfs, do_statfs, "GETATTR");
  set(OpKind::getxattr, do_getxattr, "GETXATTR");
  set(OpKind::setxattr, do_setxattr, "SETXATTR; of an access list that is no more than a mode: GETATTR, SETATTR");
  set(OpKind::listxattr, do_listxattr, "LISTXATTRS");
  set(OpKind::removexattr, do_removexattr, "REMOVEXATTR");
  set(OpKind::getlk, do_lock, "LOCKT");
  set(OpKind::setlk, do_lock, "LOCK, LOCKU");
  set(OpKind::flock, do_lock, "LOCK, LOCKU of the whole file, as kernel clients do it");
  return r;
}
constexpr std::array<Rule, kOpKinds> kRules = rules();

Fidelity setxattr_fidelity(const Op& op, bool offered) {
  if (mode_of_minimal_acl(op)) return Fidelity::approximate;  // sets the mode by two requests, and leaves no list to read
  if (!offered || !op.name.starts_with("user.")) return Fidelity::impossible;
  return op.data.size() < op.length ? Fidelity::approximate : Fidelity::exact;  // the value was not recorded
}

Fidelity fallocate_fidelity(const Op& op, bool offered) {
  constexpr uint32_t kPunch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  return offered && (op.mode == 0 || op.mode == kPunch) ? Fidelity::exact : plain_fallocate_fidelity(op);
}

}  // namespace

const char* nfs4_requests(OpKind kind) { return kRules[unsigned(kind)].requests; }

Fidelity nfs4_fidelity(const Op& op, const Nfs4Client::ServerFeatures& offers, bool privileged) {
  using enum Fidelity;
  if (unsigned(op.kind) >= kOpKinds) return impossible;
  const Fidelity fidelity = kRules[unsigned(op.kind)].fidelity;
  switch (op.kind) {
    case OpKind::rename:
      return rename_fidelity(op, fidelity, privileged);
    case OpKind::mknod:
      if ((S_ISCHR(op.mode) || S_ISBLK(op.mode)) && !privileged) return impossible;
      [[fallthrough]];
    case OpKind::create:
      return set_id_bits(op.mode) && !privileged ? approximate : fidelity;
    case OpKind::tmpfile:
      return approximate;
    case OpKind::write:
      return op.has(kOpAppend) ? approximate : fidelity;  // another client's append may come between
    case OpKind::setattr:
      return op.set && (op.set->valid & kAttrMode) && set_id_bits(op.set->mode) && !privileged ? approximate : fidelity;
    case OpKind::copy_file_range:
      if (is_clone(op)) return offers.clone == kOk ? fidelity : impossible;
      return offers.copy == kOk ? fidelity : approximate;
    case OpKind::fallocate:
      return fallocate_fidelity(op, offers.allocate == kOk);
    case OpKind::lseek:
      return offers.seek == kOk ? fidelity : impossible;
    case OpKind::setxattr:
      return setxattr_fidelity(op, offers.xattrs == kOk);
    case OpKind::getxattr:
    case OpKind::removexattr:
      return offers.xattrs == kOk && op.name.starts_with("user.") ? fidelity : impossible;
    case OpKind::listxattr:
      return offers.xattrs == kOk ? fidelity : impossible;
    default:
      return fidelity;
  }
}

Task perform(OpCall& call) {
  if (nfs4_fidelity(call.op(), call.client().offers(), call.client().options.privileged) == Fidelity::impossible)
    co_return EOPNOTSUPP;
  co_return co_await kRules[unsigned(call.op().kind)].run(call);
}

int find_object(OpCall& call, ObjectId object, FileHandle* handle) { return call.files().handle_of(object, handle) ? 0 : ESTALE; }

int find_parent(OpCall& call, FileHandle* dir) {
  if (int error = name_error(call.op().name)) return error;
  return find_object(call, call.op().parent, dir);
}

uint32_t allowed_mode(const OpCall& call, uint32_t mode) {
  return call.client().options.privileged ? mode : mode & ~set_id_bits(mode);
}

void map_result(OpCall& call, const Reply& reply) {
  call.files().map_id(call.op().object, reply.handle, reply.attr);
  call.request->outcome.attr = reply.attr;
}

int find_file(OpCall& call, HandleId handle, ObjectId object, File* file) {
  file->object = object;
  file->who = call.who;
  if (handle == 0) return find_object(call, object, &file->handle);
  nfs::Open known;
  if (!call.files().opens.get(handle, &known)) return EBADF;
  if (known.listing) return EISDIR;
  const OpenState* state = call.states().open(handle);
  Mount* other = state ? nullptr : call.shared->opener(handle);  // of the source of a copy
  if (other) state = other->states.open(handle);
  if (!state) return EBADF;
  if (state->lost) return EIO;
  *file = {known.object, state->handle, other ? kAnonymous : state->stateid, call.user_of_open(state->who), known.flags};
  return 0;
}

}  // namespace fsr::nfs4
