// SPDX-License-Identifier: Apache-2.0
#include "plan/name_views.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <xxhash.h>

#include <cerrno>

namespace fsr {

uint64_t view_key(ObjectId parent, std::string_view name) { return XXH3_64bits_withSeed(name.data(), name.size(), parent); }

bool changes_names(const Op& op) {
  if (op.error || op.has(kOpUnfinished)) return false;
  switch (op.kind) {
    case OpKind::create:
      return op.has(kOpCreated);
    case OpKind::mkdir:
    case OpKind::mknod:
    case OpKind::symlink:
    case OpKind::link:
    case OpKind::unlink:
    case OpKind::rmdir:
    case OpKind::rename:
      return true;
    default:
      return false;
  }
}

bool looks_into_directory(const Op& op) {
  if (!op.object || op.has(kOpUnfinished)) return false;
  return op.kind == OpKind::rmdir ? !op.error || op.error == ENOTEMPTY : !op.entries.empty();
}

namespace {

constexpr NameState kAbsent{NameState::absent, kNoObject};
NameState present(ObjectId object) { return {NameState::present, object}; }

struct Views {
  const Op& op;
  NameView* views;
  unsigned count = 0;

  void add(ObjectId parent, std::string_view name, NameState before, NameState after) {
    views[count++] = {parent, name, before, after};
  }
  void saw(ObjectId parent, std::string_view name, NameState state) { add(parent, name, state, state); }
  bool gone() const { return op.error == ENOENT || op.error == ESTALE; }

  // A name that was made, or an attempt at it, which fails where the name or no directory is.
  void maker(ObjectId parent, std::string_view name) {
    if (!op.error) return add(parent, name, kAbsent, present(op.object));
    if (op.error == EEXIST || op.error == EISDIR) saw(parent, name, present(kNoObject));
    if (gone()) saw(parent, {}, kAbsent);
  }
  void removal(ObjectId object) {
    if (object) add(object, {}, present(object), kAbsent);
  }
  void remover() {
    if (!op.error) {
      add(op.parent, op.name, present(op.object), kAbsent);
      removal(op.object);
    } else if (gone()) {
      saw(op.parent, op.name, kAbsent);
    } else if (op.error == ENOTEMPTY || op.error == EISDIR || op.error == ENOTDIR) {
      saw(op.parent, op.name, present(op.object));
    }
  }
  void lookup() {
    if (!op.error) saw(op.parent, op.name, present(op.object));
    if (op.error == ENOENT) saw(op.parent, op.name, kAbsent);
  }
  void rename() {
    if (op.error) {
      // Of two to be exchanged, either may be missing.
      if (op.error == ENOENT && !(op.flags & RENAME_EXCHANGE)) saw(op.parent, op.name, kAbsent);
      if (op.error == EEXIST || op.error == ENOTEMPTY || op.error == EISDIR || op.error == ENOTDIR) {
        saw(op.parent, op.name, present(op.object));
        saw(op.parent2, op.name2, present(kNoObject));
      }
      return;
    }
    const bool exchange = op.flags & RENAME_EXCHANGE;
    // A whiteout is there afterwards, an object that the operation does not tell.
    const NameState left = exchange ? present(op.object2) : op.flags & RENAME_WHITEOUT ? present(kNoObject) : kAbsent;
    add(op.parent, op.name, present(op.object), left);
    NameState target = op.object2 || exchange ? present(op.object2) : (op.flags & RENAME_NOREPLACE) ? kAbsent : NameState{};
    add(op.parent2, op.name2, target, present(op.object));
    if (!exchange) removal(op.object2);
  }
};

}  // namespace

unsigned name_views(const Op& op, NameView views[kMaxViews]) {
  if (op.has(kOpUnfinished)) return 0;
  Views v{op, views};
  switch (op.kind) {
    case OpKind::lookup:
      v.lookup();
      break;
    case OpKind::create:
      if (op.error ? op.error == EEXIST || (op.open_flags & O_CREAT) : op.has(kOpCreated))
        v.maker(op.parent, op.name);
      else
        v.lookup();
      break;
    case OpKind::mkdir:
    case OpKind::mknod:
    case OpKind::symlink:
      v.maker(op.parent, op.name);
      break;
    case OpKind::link:
      v.maker(op.parent2, op.name2);
      if (!op.error) v.saw(op.object, {}, present(op.object));
      break;
    case OpKind::unlink:
    case OpKind::rmdir:
      v.remover();
      break;
    case OpKind::rename:
      v.rename();
      break;
    default:
      // Whatever else fails for want of the object came after its removal.
      if (op.object && v.gone()) v.saw(op.object, {}, kAbsent);
  }
  return v.count;
}

}  // namespace fsr
