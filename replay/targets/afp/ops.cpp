// SPDX-License-Identifier: Apache-2.0
#include "targets/afp/ops.hpp"
#include "clone.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "targets/guards.hpp"
#include "targets/plain_fallocate.hpp"
#include "targets/posix_acl.hpp"
#include "targets/unicode.hpp"

namespace fsr::afp {

namespace {

using enum Fidelity;

struct Rule {
  Fidelity fidelity = impossible;
  Coroutine* run = nullptr;
  const char* requests = "";
};

// The rules for each kind of operation. A kind without a rule is impossible: AFP has no holes, no space reservation, no special
// files and no ioctl.
constexpr std::array<Rule, kOpKinds> rules() {
  std::array<Rule, kOpKinds> r{};
  auto set = [&](OpKind kind, Fidelity fidelity, Coroutine* run, const char* requests) {
    r[unsigned(kind)] = {fidelity, run, requests};
  };
  set(OpKind::null, exact, do_null, "FPGetSrvrParms");
  set(OpKind::lookup, exact, do_lookup, "FPGetFileDirParms");
  set(OpKind::getattr, approximate, do_getattr, "FPGetFileDirParms: whole seconds, no link count, no times of change and access");
  set(OpKind::statx, approximate, do_getattr, "FPGetFileDirParms: whole seconds, no link count, no times of change and access");
  set(OpKind::setattr, approximate, do_setattr, "FPSetFileDirParms; for a size FPOpenFork, FPSetForkParms");
  set(OpKind::access, approximate, do_access, "FPGetFileDirParms: what the server would let the session's user do");
  set(OpKind::readlink, exact, do_readlink, "FPOpenFork, FPReadExt, FPCloseFork");
  set(OpKind::open, exact, do_open, "FPOpenFork; FPSetForkParms to truncate");
  set(OpKind::create, approximate, do_create, "FPCreateFile, FPOpenFork, FPSetFileDirParms for the mode");
  set(OpKind::tmpfile, approximate, do_tmpfile, "as create, by a hidden name");
  set(OpKind::read, exact, do_read, "FPReadExt, as many as the quantum asks for");
  set(OpKind::write, exact, do_write, "FPWriteExt, as many as the quantum asks for");
  set(OpKind::copy_file_range, approximate, do_copy, "FPReadExt and FPWriteExt");
  set(OpKind::fallocate, approximate, do_fallocate,
      "FPGetFileDirParms; where it grows FPOpenFork, FPSetForkParms; of a cleared range below 1 MiB: FPWriteExt of zeros");
  set(OpKind::fsync, exact, do_fsync, "FPSyncFork, before AFP 3.1 FPFlushFork");
  set(OpKind::flush, exact, do_flush, "FPByteRangeLockExt if the owner has locks, else nothing");
  set(OpKind::release, exact, do_release, "FPCloseFork");
  set(OpKind::opendir, exact, do_opendir, "nothing: directories have lasting ids");
  set(OpKind::readdir, approximate, do_readdir, "FPEnumerateExt2: by index, which changes of the directory shift");
  set(OpKind::readdirplus, approximate, do_readdir, "FPEnumerateExt2: by index, which changes of the directory shift");
  set(OpKind::releasedir, exact, do_release, "nothing");
  set(OpKind::fsyncdir, approximate, do_fsyncdir, "FPSyncDir");
  set(OpKind::mkdir, approximate, do_mkdir, "FPCreateDir, FPSetFileDirParms for the mode");
  set(OpKind::mknod, approximate, do_mknod, "files only: FPCreateFile, FPSetFileDirParms");
  set(OpKind::symlink, approximate, do_symlink, "a file that the server turns into a link, if the server accepts the target");
  set(OpKind::link, approximate, do_link, "FPCopyFile: a file of its own; of an unnamed file: FPMoveAndRename");
  set(OpKind::unlink, approximate, do_remove, "FPDelete; of an open file: FPMoveAndRename to a hidden name");
  set(OpKind::rmdir, exact, do_remove, "FPDelete");
  set(OpKind::rename, approximate, do_rename, "FPMoveAndRename, after FPDelete of an existing target; FPExchangeFiles");
  set(OpKind::statfs, approximate, do_statfs, "FPGetVolParms");
  set(OpKind::getxattr, exact, do_getxattr, "FPGetExtAttr");
  set(OpKind::setxattr, exact, do_setxattr, "FPSetExtAttr");
  set(OpKind::listxattr, exact, do_listxattr, "FPListExtAttr");
  set(OpKind::removexattr, exact, do_removexattr, "FPRemoveExtAttr");
  set(OpKind::getlk, approximate, do_record_lock, "FPByteRangeLockExt: lock, unlock");
  set(OpKind::setlk, approximate, do_record_lock, "FPByteRangeLockExt: always exclusive; if the lock must wait, asked for again");
  set(OpKind::flock, approximate, do_flock, "FPByteRangeLockExt of the whole file");
  set(OpKind::syncfs, approximate, do_syncfs, "FPFlush");
  return r;
}
constexpr std::array<Rule, kOpKinds> kRules = rules();

// Returns how the operation's names are expressible. A name must be UTF-8. A name that is not composed is approximate, because it
// addresses the file with the composed name.
Fidelity name_fidelity(const Op& op) {
  if (!is_utf8(op.name) || !is_utf8(op.name2)) return impossible;
  return keeps_form(op.name) && keeps_form(op.name2) ? exact : approximate;
}

bool user_xattr(std::string_view name) { return name.starts_with("user.") && name.size() > 5; }

Fidelity setattr_fidelity(const Attr& set) {
  constexpr uint32_t kAtimes = kAttrAtime | kAttrAtimeNow, kMtimes = kAttrMtime | kAttrMtimeNow;
  const uint32_t beside = set.valid & ~(kAtimes | kAttrSize);
  if (set.valid & kAttrSize) return beside || (set.valid & kAtimes) ? approximate : exact;
  return set.valid & (kMtimes | kAttrMode | kAttrUid | kAttrGid) ? approximate : impossible;  // only the time of access
}

Fidelity xattr_fidelity(const Op& op, const ServerCapabilities& a) {
  if (mode_of_minimal_acl(op)) return approximate;
  if (!a.xattrs) return impossible;
  if (op.kind == OpKind::listxattr) return exact;
  if (!user_xattr(op.name)) return impossible;
  return op.kind == OpKind::setxattr && op.data.size() < op.length ? std::max(approximate, name_fidelity(op)) : name_fidelity(op);
}

// Returns the file whose data, size, mode or extended attributes a successful operation changes. kNoObject: it changes none.
ObjectId changed_file(const Op& op) {
  switch (op.kind) {
    case OpKind::open:
    case OpKind::create:
      return op.open_flags & O_TRUNC ? op.object : kNoObject;
    case OpKind::copy_file_range:
      return op.object2;
    case OpKind::setattr:
      return op.set && (op.set->valid & (kAttrSize | kAttrMode)) ? op.object : kNoObject;
    case OpKind::write:
    case OpKind::fallocate:
    case OpKind::setxattr:
    case OpKind::removexattr:
      return op.object;
    default:
      return kNoObject;
  }
}

}  // namespace

const char* afp_requests(OpKind kind) { return kRules[unsigned(kind)].requests; }

Fidelity afp_fidelity(const Op& op, const ServerCapabilities& a) {
  if (unsigned(op.kind) >= kOpKinds) return impossible;
  const Fidelity fidelity = kRules[unsigned(op.kind)].fidelity;
  switch (op.kind) {
    case OpKind::rename:
      if (op.flags == RENAME_NOREPLACE) return name_fidelity(op);
      if (op.flags != 0 && op.flags != RENAME_EXCHANGE) return impossible;
      break;
    case OpKind::mknod:
      if (!S_ISREG(op.mode) && (op.mode & S_IFMT) != 0) return impossible;
      break;
    case OpKind::copy_file_range:
      if (is_clone(op)) return impossible;
      break;
    case OpKind::fallocate:
      return plain_fallocate_fidelity(op);
    case OpKind::setattr:
      return op.set ? setattr_fidelity(*op.set) : fidelity;
    case OpKind::setxattr:
    case OpKind::removexattr:
    case OpKind::getxattr:
    case OpKind::listxattr:
      return xattr_fidelity(op, a);
    default:
      break;
  }
  return std::max(fidelity, name_fidelity(op));  // the worse one
}

Task perform(OpCall& call) {
  const AfpClient& client = call.client();
  if (afp_fidelity(call.op(), {client.has_xattrs(), client.settings.privileged}) == impossible) co_return EOPNOTSUPP;
  const int error = co_await kRules[unsigned(call.op().kind)].run(call);
  if (!error) call.tree().changed(changed_file(call.op()));
  co_return error;
}

int name_problem(std::string_view name) {
  if (int error = name_error(name)) return error;
  return name.size() > kLongestName ? ENAMETOOLONG : 0;
}

uint32_t allowed_mode(const OpCall& call, uint32_t mode) {
  return (call.client().settings.privileged ? mode : mode & ~set_id_bits(mode)) & 07777;
}

// Truncating needs write access.
uint16_t access_mode(uint32_t open_flags) {
  const uint32_t access = open_flags & O_ACCMODE;
  uint16_t mode = access == O_WRONLY ? kAccessWrite : access == O_RDWR ? kAccessRead | kAccessWrite : kAccessRead;
  return open_flags & O_TRUNC ? mode | kAccessWrite : mode;
}

}  // namespace fsr::afp
