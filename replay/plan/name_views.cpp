// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/fs.h>

#include <cerrno>

#include "plan/linearizer.hpp"

namespace fsr {

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

static constexpr NameState kAbsent{NameState::absent, kNoObject};
static NameState present(ObjectId object) { return {NameState::present, object}; }

// What a failed attempt to make a name saw.
static NameState seen_by_maker(const Op& op) {
  if (op.error == EEXIST) return present(kNoObject);
  return {};
}
// What a failed attempt on an existing name saw.
static NameState seen_by_user(const Op& op) {
  if (op.error == ENOENT) return kAbsent;
  if (op.error == ENOTEMPTY || op.error == EISDIR || op.error == ENOTDIR) return present(op.object);
  return {};
}

unsigned name_views(const Op& op, NameView v[2]) {
  if (op.has(kOpUnfinished)) return 0;
  auto one = [&](ObjectId parent, std::string_view name, NameState before, NameState after) {
    v[0] = {parent, name, before, after};
    return 1u;
  };
  switch (op.kind) {
    case OpKind::lookup: {
      NameState s = op.error ? (op.error == ENOENT ? kAbsent : NameState{}) : present(op.object);
      return one(op.parent, op.name, s, s);
    }
    case OpKind::create: {
      if (!op.error && op.has(kOpCreated)) return one(op.parent, op.name, kAbsent, present(op.object));
      NameState s = op.error ? seen_by_maker(op) : present(op.object);
      if (op.error == ENOENT && !(op.open_flags & O_CREAT)) s = kAbsent;
      return one(op.parent, op.name, s, s);
    }
    case OpKind::mkdir:
    case OpKind::mknod:
    case OpKind::symlink: {
      if (!op.error) return one(op.parent, op.name, kAbsent, present(op.object));
      NameState s = seen_by_maker(op);
      return one(op.parent, op.name, s, s);
    }
    case OpKind::link: {
      if (!op.error) return one(op.parent2, op.name2, kAbsent, present(op.object));
      NameState s = seen_by_maker(op);
      return one(op.parent2, op.name2, s, s);
    }
    case OpKind::unlink:
    case OpKind::rmdir: {
      if (!op.error) return one(op.parent, op.name, present(op.object), kAbsent);
      NameState s = seen_by_user(op);
      return one(op.parent, op.name, s, s);
    }
    case OpKind::rename: {
      if (op.error) {
        NameState target = op.error == EEXIST || op.error == ENOTEMPTY ? present(kNoObject) : NameState{};
        v[0] = {op.parent, op.name, {}, {}};
        v[1] = {op.parent2, op.name2, target, target};
        return 2;
      }
      bool exchange = op.flags & RENAME_EXCHANGE;
      v[0] = {op.parent, op.name, present(op.object), exchange ? present(op.object2) : kAbsent};
      NameState target = op.object2 || exchange ? present(op.object2) : (op.flags & RENAME_NOREPLACE) ? kAbsent : NameState{};
      v[1] = {op.parent2, op.name2, target, present(op.object)};
      return 2;
    }
    default:
      return 0;
  }
}

}  // namespace fsr
