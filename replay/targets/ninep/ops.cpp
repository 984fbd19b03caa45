// SPDX-License-Identifier: Apache-2.0
#include "targets/ninep/ops.hpp"
#include "clone.hpp"

#include <errno.h>
#include <sys/stat.h>

#include <array>

#include "targets/guards.hpp"
#include "targets/plain_fallocate.hpp"
#include "targets/posix_acl.hpp"
#include "targets/rename_flags.hpp"
#include "targets/unicode.hpp"

namespace fsr::ninep {

namespace {

using enum Fidelity;

struct Rule {
  Fidelity l = impossible, u = impossible, plain = impossible;
  Coroutine* run = nullptr;
  const char* requests = "";
};

// The rules for each kind of operation and dialect (9P2000.L, 9P2000.u, 9P2000). A kind without a rule is impossible: 9P has no
// holes, no space reservation, no ioctl and no sync of a file system.
constexpr std::array<Rule, kOpKinds> rules() {
  std::array<Rule, kOpKinds> r{};
  auto set = [&](OpKind kind, Fidelity l, Fidelity u, Fidelity plain, Coroutine* run, const char* requests) {
    r[unsigned(kind)] = {l, u, plain, run, requests};
  };
  set(OpKind::null, exact, exact, exact, do_null, "Tflush of no request");
  set(OpKind::lookup, exact, exact, exact, do_lookup, "Twalk, Tgetattr or Tstat");
  set(OpKind::getattr, exact, exact, exact, do_getattr, "Tgetattr or Tstat");
  set(OpKind::statx, exact, exact, exact, do_getattr, "Tgetattr or Tstat");
  set(OpKind::setattr, exact, exact, exact, do_setattr, "Tsetattr or Twstat");
  set(OpKind::access, approximate, approximate, approximate, do_access, "Tgetattr or Tstat: mode bits, no access lists");
  set(OpKind::readlink, exact, exact, impossible, do_readlink, "Treadlink; .u: Tstat");
  set(OpKind::open, exact, exact, exact, do_open, "Twalk (a copy), Tlopen or Topen");
  set(OpKind::create, exact, exact, exact, do_create, "Twalk (a copy), Tlcreate or Tcreate");
  set(OpKind::tmpfile, approximate, approximate, impossible, do_tmpfile, "as create, by a hidden name");
  set(OpKind::read, exact, exact, exact, do_read, "Tread, as many as msize asks for");
  set(OpKind::write, exact, exact, exact, do_write, "Twrite, as many as msize asks for");
  set(OpKind::copy_file_range, approximate, approximate, approximate, do_copy, "Tread and Twrite");
  set(OpKind::fallocate, approximate, approximate, approximate, do_fallocate,
      "Tgetattr or Tstat; Tsetattr or Twstat of the size where it grows; of a cleared range below 1 MiB: Twrite of zeros");
  set(OpKind::fsync, exact, exact, exact, do_fsync, "Tfsync; else a Twstat that changes nothing");
  set(OpKind::flush, exact, exact, exact, do_flush, "Tlock if the owner has locks, else nothing");
  set(OpKind::release, exact, exact, exact, do_release, "Tclunk");
  set(OpKind::opendir, exact, exact, exact, do_open, "Twalk (a copy), Tlopen or Topen");
  set(OpKind::readdir, exact, exact, exact, do_readdir, "Treaddir or Tread");
  set(OpKind::readdirplus, approximate, exact, exact, do_readdir, "Treaddir: no attributes; Tread: with them");
  set(OpKind::releasedir, exact, exact, exact, do_release, "Tclunk");
  set(OpKind::fsyncdir, exact, exact, exact, do_fsync, "Tfsync; else a Twstat that changes nothing");
  set(OpKind::mkdir, exact, exact, exact, do_mkdir, "Tmkdir or Tcreate");
  set(OpKind::mknod, exact, exact, impossible, do_mknod, "Tmknod or Tcreate");
  set(OpKind::symlink, exact, exact, impossible, do_symlink, "Tsymlink or Tcreate");
  set(OpKind::link, exact, exact, impossible, do_link, "Tlink or Tcreate");
  set(OpKind::unlink, exact, exact, exact, do_remove, "Tunlinkat; else Twalk, Tremove");
  set(OpKind::rmdir, exact, exact, exact, do_remove, "Tunlinkat; else Twalk, Tremove");
  set(OpKind::rename, exact, approximate, approximate, do_rename, "Trenameat, Trename or Twstat; NOREPLACE: first Twalk");
  set(OpKind::statfs, exact, impossible, impossible, do_statfs, "Tstatfs");
  set(OpKind::getxattr, exact, impossible, impossible, do_getxattr, "Txattrwalk, Tread, Tclunk");
  set(OpKind::setxattr, exact, impossible, impossible, do_setxattr, "Txattrcreate, Twrite, Tclunk");
  set(OpKind::listxattr, exact, impossible, impossible, do_listxattr, "Txattrwalk, Tread, Tclunk");
  set(OpKind::removexattr, exact, impossible, impossible, do_removexattr, "Txattrcreate of no bytes, Tclunk");
  set(OpKind::getlk, exact, impossible, impossible, do_record_lock, "Tgetlock");
  set(OpKind::setlk, exact, impossible, impossible, do_record_lock, "Tlock");
  set(OpKind::flock, exact, impossible, impossible, do_flock, "Tlock of the whole file");
  return r;
}
constexpr std::array<Rule, kOpKinds> kRules = rules();

constexpr int64_t kBillion = 1'000'000'000;

bool whole_second(const Attr& set, AttrField field, int64_t ns) {
  return !(set.valid & field) || (ns >= 0 && ns % kBillion == 0 && ns / kBillion < UINT32_MAX);
}

// Returns how `set` is expressible by Twstat. It can't set owners in 9P2000, has 32-bit seconds, and most servers don't set the
// time of access.
Fidelity wstat_fidelity(const Attr& set, Dialect dialect) {
  constexpr uint32_t kOwner = kAttrUid | kAttrGid, kSettable = kAttrMode | kAttrSize | kAttrMtime | kAttrMtimeNow;
  if (dialect == Dialect::plain && (set.valid & kOwner)) return set.valid & kSettable ? approximate : impossible;
  if (set.valid & (kAttrAtime | kAttrAtimeNow)) return set.valid & (kSettable | kOwner) ? approximate : impossible;
  return whole_second(set, kAttrMtime, set.mtime) && !(set.valid & kAttrMtimeNow) ? exact : approximate;
}

// True: `mode` has bits that the dialect lacks, or that only privileged users may set. In 9P2000.u, QEMU ignores set-id bits of a
// Tcreate, but takes them from a Twstat.
bool loses_mode_bits(uint32_t mode, const ServerCapabilities& a, bool creates) {
  const bool has_ids = a.dialect == Dialect::u && !creates;
  const uint32_t lost = a.dialect == Dialect::l ? 0 : has_ids ? S_ISVTX : S_ISVTX | S_ISUID | S_ISGID;
  return (mode & lost) || (set_id_bits(mode) && !a.privileged);
}

}  // namespace

const char* ninep_requests(OpKind kind) { return kRules[unsigned(kind)].requests; }

Fidelity ninep_fidelity(const Op& op, const ServerCapabilities& a) {
  if (unsigned(op.kind) >= kOpKinds) return impossible;
  // Strings of 9P2000 are UTF-8 (intro(5) of Plan 9), and servers hang up if they are not. The other dialects take any bytes.
  if (a.dialect == Dialect::plain && !(is_utf8(op.name) && is_utf8(op.name2))) return impossible;
  const Rule& rule = kRules[unsigned(op.kind)];
  Fidelity fidelity = a.dialect == Dialect::l ? rule.l : a.dialect == Dialect::u ? rule.u : rule.plain;
  const bool regular = S_ISREG(op.mode) || (op.mode & S_IFMT) == 0;
  switch (op.kind) {
    case OpKind::rename:
      if (a.dialect != Dialect::l && op.parent != op.parent2) return impossible;  // Twstat renames within a directory
      if (a.dialect == Dialect::plain && (op.flags & RENAME_WHITEOUT)) return impossible;
      return rename_fidelity(op, fidelity, a.privileged);
    case OpKind::mknod:
      if ((S_ISCHR(op.mode) || S_ISBLK(op.mode)) && !a.privileged) return impossible;
      if (a.dialect == Dialect::plain && regular) fidelity = exact;
      [[fallthrough]];
    case OpKind::create:
    case OpKind::mkdir:
      return fidelity == exact && loses_mode_bits(op.mode, a, true) ? approximate : fidelity;
    case OpKind::write:
      return op.has(kOpAppend) ? approximate : fidelity;  // another client's append may come between
    case OpKind::copy_file_range:
      return is_clone(op) ? impossible : fidelity;
    case OpKind::fallocate:
      return plain_fallocate_fidelity(op);
    case OpKind::setattr:
      if (!op.set) return fidelity;
      if (a.dialect != Dialect::l && wstat_fidelity(*op.set, a.dialect) != exact) return wstat_fidelity(*op.set, a.dialect);
      return (op.set->valid & kAttrMode) && loses_mode_bits(op.set->mode, a, false) ? approximate : fidelity;
    case OpKind::setxattr:
      if (mode_of_minimal_acl(op) && !a.xattrs) return approximate;
      if (op.data.size() < op.length) return op.name.starts_with("user.") && a.xattrs ? approximate : impossible;
      [[fallthrough]];
    case OpKind::removexattr:
      if (is_guarded_xattr(op.name) && !a.privileged) return impossible;
      [[fallthrough]];
    case OpKind::getxattr:
    case OpKind::listxattr:
      return a.xattrs ? fidelity : impossible;
    default:
      return fidelity;
  }
}

Task perform(OpCall& call) {
  const NinepClient& client = call.client();
  const ServerCapabilities abilities{client.dialect(), client.has_xattrs(), client.settings.privileged};
  if (ninep_fidelity(call.op(), abilities) == impossible) co_return EOPNOTSUPP;
  co_return co_await kRules[unsigned(call.op().kind)].run(call);
}

uint32_t plan9_permissions(const OpCall& call, uint32_t mode) {
  const bool has_ids = call.client().dialect() == Dialect::u;
  return (mode & 0777) | (has_ids && mode & S_ISUID ? kSetuidMode : 0u) | (has_ids && mode & S_ISGID ? kSetgidMode : 0u);
}

uint32_t allowed_mode(const OpCall& call, uint32_t mode) {
  return call.client().settings.privileged ? mode : mode & ~set_id_bits(mode);
}

}  // namespace fsr::ninep
