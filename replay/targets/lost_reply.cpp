// SPDX-License-Identifier: Apache-2.0
#include "targets/lost_reply.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include "trace/model.hpp"

namespace fsr {

bool shows_in_names(const Op& op) {
  if (op.error || op.has(kOpUnfinished)) return false;
  // The others take several requests.
  if (op.kind == OpKind::rename) return !(op.flags & (RENAME_EXCHANGE | RENAME_WHITEOUT));
  return changes_names(op.kind);
}

bool must_be_new(const Op& op) {
  return op.kind == OpKind::create || op.kind == OpKind::mkdir || op.kind == OpKind::mknod || op.kind == OpKind::symlink;
}

// True: `seen` is as `op` makes it.
static bool is_made(const Op& op, const Sighting& seen) {
  if (seen.is_another) return false;
  switch (op.kind) {
    case OpKind::mkdir:
      return S_ISDIR(seen.type) && seen.links <= 2;  // more links are those of directories in it
    case OpKind::symlink:
      return S_ISLNK(seen.type) && seen.text == op.data;
    default: {
      const uint32_t type = op.kind == OpKind::mknod && (op.mode & S_IFMT) ? op.mode & S_IFMT : uint32_t(S_IFREG);
      const bool device = type == S_IFCHR || type == S_IFBLK;
      return seen.type == type && (seen.size == 0 || type != S_IFREG) && (!device || seen.rdev == op.flags);
    }
  }
}

LostReply judge(const Op& op, const Sighting& name, const Sighting& name2) {
  const bool there = name.is_object == true, there2 = name2.is_object == true;
  switch (op.kind) {
    case OpKind::unlink:
    case OpKind::rmdir:
      if (!name.is_object && op.object != kNoObject) return LostReply::unknown;  // perhaps it was never there
      return !name.type ? LostReply::done : there ? LostReply::not_done : LostReply::unknown;
    case OpKind::link:
      if (!name2.type) return LostReply::not_done;
      if (name2.links && name2.links <= name2.links_before) return LostReply::unknown;  // it was a name of that file before
      return there2 ? LostReply::done : LostReply::unknown;
    case OpKind::rename:
      return there ? LostReply::not_done : there2 ? LostReply::done : LostReply::unknown;
    case OpKind::create:
      if (!(op.open_flags & O_EXCL)) return LostReply::not_done;  // performed twice, it has the same effect
      [[fallthrough]];
    default:
      return !name.type ? LostReply::not_done : is_made(op, name) ? LostReply::done : LostReply::unknown;
  }
}

}  // namespace fsr
