// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/nfs3_ops.hpp"
#include "clone.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <array>

#include "targets/guards.hpp"
#include "targets/plain_fallocate.hpp"
#include "targets/posix_acl.hpp"
#include "targets/rename_flags.hpp"

namespace fsr::nfs {

namespace {

struct Rule {
  Fidelity fidelity = Fidelity::impossible;
  Coroutine* run = nullptr;
  const char* requests = "";
};

// The rules for each kind of operation. A kind without a rule is impossible: version 3 has no extended attributes, holes, space
// reservation or ioctl. Locks depend on the server's lock manager.
constexpr std::array<Rule, kOpKinds> rules() {
  std::array<Rule, kOpKinds> r{};
  auto set = [&](OpKind kind, Coroutine* run, const char* requests) { r[unsigned(kind)] = {Fidelity::exact, run, requests}; };
  set(OpKind::null, do_null, "NULL");
  set(OpKind::lookup, do_lookup, "LOOKUP");
  set(OpKind::getattr, do_getattr, "GETATTR");
  set(OpKind::statx, do_getattr, "GETATTR");
  set(OpKind::setattr, do_setattr, "SETATTR");
  set(OpKind::access, do_access, "ACCESS");
  set(OpKind::readlink, do_readlink, "READLINK");
  set(OpKind::open, do_open, "ACCESS: permission, and attributes for close-to-open; with O_TRUNC also SETATTR");
  set(OpKind::create, do_create, "CREATE: GUARDED with O_EXCL, else UNCHECKED");
  set(OpKind::tmpfile, do_tmpfile, "CREATE GUARDED, by a hidden name");
  set(OpKind::read, do_read, "READ, as many as the server's limit asks for");
  set(OpKind::write, do_write, "WRITE, as many as the limit asks for: UNSTABLE, or as O_SYNC and O_DSYNC ask");
  set(OpKind::copy_file_range, do_copy, "READ and WRITE in turn, FILE_SYNC");
  set(OpKind::fallocate, do_fallocate,
      "GETATTR, SETATTR of the size where it grows; of a cleared range below 1 MiB: WRITE of zeros");
  set(OpKind::fsync, do_fsync, "COMMIT if there are UNSTABLE writes or no open file, else nothing");
  set(OpKind::flush, do_flush, "NLM4 UNLOCK if the owner has locks, else nothing: fsyncs were recorded");
  set(OpKind::release, do_release, "nothing; REMOVE of hidden names, UNLOCK of a flock (auxiliary)");
  set(OpKind::opendir, do_open, "ACCESS");
  set(OpKind::readdir, do_readdir, "READDIR, as many as the recorded number of entries takes");
  set(OpKind::readdirplus, do_readdir, "READDIRPLUS, as many as the recorded number of entries takes");
  set(OpKind::releasedir, do_release, "nothing");
  set(OpKind::fsyncdir, do_flush, "nothing: version 3 changes names synchronously");
  set(OpKind::mkdir, do_mkdir, "MKDIR");
  set(OpKind::mknod, do_mknod, "MKNOD; of a regular file: CREATE GUARDED");
  set(OpKind::symlink, do_symlink, "SYMLINK");
  set(OpKind::link, do_link, "LINK");
  set(OpKind::unlink, do_remove, "REMOVE; while open: RENAME to a hidden name");
  set(OpKind::rmdir, do_remove, "RMDIR");
  set(OpKind::rename, do_rename, "RENAME; over an open file: first RENAME of that (auxiliary); NOREPLACE: LOOKUP, RENAME");
  set(OpKind::setxattr, do_setattr, "GETATTR, SETATTR, of an access list that is no more than a mode; else impossible");
  set(OpKind::statfs, do_statfs, "FSSTAT, FSINFO or PATHCONF");
  set(OpKind::getlk, do_lock, "NLM4 TEST");
  set(OpKind::setlk, do_lock, "NLM4 NM_LOCK, UNLOCK; if the lock must wait, asked for again");
  set(OpKind::flock, do_lock, "NLM4 NM_LOCK, UNLOCK of the whole file, as kernel clients do it");
  return r;
}
constexpr std::array<Rule, kOpKinds> kRules = rules();

constexpr int64_t kLastTime = int64_t(UINT32_MAX) * 1'000'000'000;

bool time_fits(const Attr& set, AttrField field, int64_t ns) { return !(set.valid & field) || (ns >= 0 && ns <= kLastTime); }

}  // namespace

const char* nfs3_requests(OpKind kind) { return kRules[unsigned(kind)].requests; }

Fidelity nfs3_fidelity(const Op& op, bool locks, bool privileged) {
  if (unsigned(op.kind) >= kOpKinds) return Fidelity::impossible;
  Fidelity fidelity = kRules[unsigned(op.kind)].fidelity;
  switch (op.kind) {
    case OpKind::rename:
      return rename_fidelity(op, fidelity, privileged);
    case OpKind::mknod:
      if ((S_ISCHR(op.mode) || S_ISBLK(op.mode)) && !privileged) return Fidelity::impossible;
      [[fallthrough]];
    case OpKind::create:
      return set_id_bits(op.mode) && !privileged ? Fidelity::approximate : fidelity;
    case OpKind::copy_file_range:
      return is_clone(op) ? Fidelity::impossible : Fidelity::approximate;
    case OpKind::tmpfile:
      return Fidelity::approximate;
    case OpKind::write:
      return op.has(kOpAppend) ? Fidelity::approximate : fidelity;  // another client's append may come between
    case OpKind::setattr:
      if (!op.set) return fidelity;
      if ((op.set->valid & kAttrMode) && set_id_bits(op.set->mode) && !privileged) return Fidelity::approximate;
      if (!time_fits(*op.set, kAttrAtime, op.set->atime) || !time_fits(*op.set, kAttrMtime, op.set->mtime))
        return Fidelity::approximate;
      return fidelity;
    case OpKind::fallocate:
      return plain_fallocate_fidelity(op);
    case OpKind::setxattr:
      return mode_of_minimal_acl(op) ? Fidelity::approximate : Fidelity::impossible;
    case OpKind::getlk:
    case OpKind::setlk:
    case OpKind::flock:
      return locks ? fidelity : Fidelity::impossible;
    default:
      return fidelity;
  }
}

Task failed(int error) { co_return error; }

Task perform(OpCall& call) {
  const NfsOptions& o = call.client().options;
  if (nfs3_fidelity(call.op(), !o.lock_manager.empty(), o.privileged) == Fidelity::impossible) return failed(EOPNOTSUPP);
  return kRules[unsigned(call.op().kind)].run(call);
}

int find_object(OpCall& call, ObjectId object, FileHandle* handle) { return call.files().handle_of(object, handle) ? 0 : ESTALE; }

int find_file(OpCall& call, HandleId handle, ObjectId object, Open* file) {
  if (handle) return call.files().opens.get(handle, file) ? 0 : EBADF;
  file->object = object;
  return find_object(call, object, &file->handle);
}

int find_open(OpCall& call, Open* file) { return find_file(call, call.op().handle, call.op().object, file); }

// Refuses names longer than 255 bytes, as kernel clients do, because servers can't decode them.
int check_name(std::string_view name) {
  constexpr size_t kLongestName = 255;
  return name.size() > kLongestName ? ENAMETOOLONG : name_error(name);
}

uint32_t allowed_mode(const OpCall& call, uint32_t mode) {
  return call.client().options.privileged ? mode : mode & ~set_id_bits(mode);
}

int finish_plain(OpCall& call, const ClientReply& reply) {
  if (!reply.error) call.request->outcome.attr = reply.attr;
  return reply.error;
}

}  // namespace fsr::nfs
