// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/nfs3_ops.hpp"

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
  void (*start)(OpCall& call) = nullptr;
  const char* requests = "";
};

// The rules for each kind of operation. A kind without a rule is impossible: version 3 has no extended attributes, holes, space
// reservation or ioctl. Locks depend on the server's lock manager.
constexpr std::array<Rule, kOpKinds> rules() {
  std::array<Rule, kOpKinds> r{};
  auto set = [&](OpKind kind, void (*start)(OpCall&), const char* requests) {
    r[unsigned(kind)] = {Fidelity::exact, start, requests};
  };
  set(OpKind::null, start_null, "NULL");
  set(OpKind::lookup, start_lookup, "LOOKUP");
  set(OpKind::getattr, start_getattr, "GETATTR");
  set(OpKind::statx, start_getattr, "GETATTR");
  set(OpKind::setattr, start_setattr, "SETATTR");
  set(OpKind::access, start_access, "ACCESS");
  set(OpKind::readlink, start_readlink, "READLINK");
  set(OpKind::open, start_open, "ACCESS: permission, and attributes for close-to-open; with O_TRUNC also SETATTR");
  set(OpKind::create, start_create, "CREATE: GUARDED with O_EXCL, else UNCHECKED");
  set(OpKind::tmpfile, start_tmpfile, "CREATE GUARDED, by a hidden name");
  set(OpKind::read, start_read, "READ, as many as the server's limit asks for");
  set(OpKind::write, start_write, "WRITE, as many as the limit asks for: UNSTABLE, or as O_SYNC and O_DSYNC ask");
  set(OpKind::copy_file_range, start_copy, "READ and WRITE in turn, FILE_SYNC");
  set(OpKind::fallocate, start_fallocate,
      "GETATTR, SETATTR of the size where it grows; of a cleared range below 1 MiB: WRITE of zeros");
  set(OpKind::fsync, start_fsync, "COMMIT if there are UNSTABLE writes or no open file, else nothing");
  set(OpKind::flush, start_flush, "NLM4 UNLOCK if the owner has locks, else nothing: fsyncs were recorded");
  set(OpKind::release, start_release, "nothing; REMOVE of hidden names, UNLOCK of a flock (auxiliary)");
  set(OpKind::opendir, start_open, "ACCESS");
  set(OpKind::readdir, start_readdir, "READDIR, as many as the recorded number of entries takes");
  set(OpKind::readdirplus, start_readdir, "READDIRPLUS, as many as the recorded number of entries takes");
  set(OpKind::releasedir, start_release, "nothing");
  set(OpKind::fsyncdir, start_flush, "nothing: version 3 changes names synchronously");
  set(OpKind::mkdir, start_mkdir, "MKDIR");
  set(OpKind::mknod, start_mknod, "MKNOD; of a regular file: CREATE GUARDED");
  set(OpKind::symlink, start_symlink, "SYMLINK");
  set(OpKind::link, start_link, "LINK");
  set(OpKind::unlink, start_unlink, "REMOVE; while open: RENAME to a hidden name");
  set(OpKind::rmdir, start_rmdir, "RMDIR");
  set(OpKind::rename, start_rename, "RENAME; over an open file: first RENAME of that (auxiliary); NOREPLACE: LOOKUP, RENAME");
  set(OpKind::setxattr, start_setattr, "GETATTR, SETATTR, of an access list that is no more than a mode; else impossible");
  set(OpKind::statfs, start_statfs, "FSSTAT, FSINFO or PATHCONF");
  set(OpKind::getlk, start_record_lock, "NLM4 TEST");
  set(OpKind::setlk, start_record_lock, "NLM4 NM_LOCK, UNLOCK; if the lock must wait, asked for again");
  set(OpKind::flock, start_flock, "NLM4 NM_LOCK, UNLOCK of the whole file, as kernel clients do it");
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

void start_operation(OpCall& call) {
  const Op& op = call.op();
  const NfsOptions& o = call.state().options;
  if (nfs3_fidelity(op, !o.lock_manager.empty(), o.privileged) == Fidelity::impossible)
    return call.session->finish(call, EOPNOTSUPP);
  kRules[unsigned(op.kind)].start(call);
}

bool find_object(OpCall& call, ObjectId object, FileHandle* handle) {
  if (call.state().handle_of(object, handle)) return true;
  call.session->finish(call, ESTALE);
  return false;
}

// Finds the file of an operation, with or without a handle. False: there is none, and the call is finished.
bool find_open(OpCall& call, Open* open) {
  const Op& op = call.op();
  if (op.handle == 0) {
    open->object = op.object;
    return find_object(call, op.object, &open->handle);
  }
  if (call.state().opens.get(op.handle, open)) return true;
  call.session->finish(call, EBADF);
  return false;
}

// Checks a name. Names longer than 255 bytes are refused, as by kernel clients, because servers can't decode them.
bool check_name(OpCall& call, std::string_view name) {
  constexpr size_t kLongestName = 255;
  const int error = name.size() > kLongestName ? ENAMETOOLONG : name_error(name);
  if (error) call.session->finish(call, error);
  return error == 0;
}

uint32_t allowed_mode(const OpCall& call, uint32_t mode) {
  return call.state().options.privileged ? mode : mode & ~set_id_bits(mode);
}

void finish_plain(OpCall& call, const Rpc&, const Reply& reply, int error) {
  if (!error) call.request->outcome.attr = reply.attr;
  call.session->finish(call, error);
}

}  // namespace fsr::nfs
