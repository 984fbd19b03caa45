// SPDX-License-Identifier: Apache-2.0
#include "plan/name_views.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/xattr.h>

#include <cerrno>

#include "trace/model.hpp"

namespace fsr {

// True: `name` could lead out of the target's tree. A name that is only too long can't, and its refusal is an outcome.
static bool leads_out(std::string_view name) {
  constexpr size_t kLongest = 255;
  return !valid_component(name.substr(0, kLongest)) || name.find('/') != name.npos || name.find('\0') != name.npos;
}

bool leads_out(const Op& op) {
  const uint16_t traits = kind_traits(op.kind);
  return (traits & kHasName && leads_out(op.name)) || (traits & kHasName2 && leads_out(op.name2));
}

bool changes_names(const Op& op) {
  if (op.error || op.has(kOpUnfinished)) return false;
  switch (op.kind) {
    case OpKind::create:
      return op.has(kOpCreated);
    case OpKind::setxattr:
    case OpKind::removexattr:
      return true;
    case OpKind::rename:
      return !op.object || op.object != op.object2;
    default:
      return changes_names(op.kind);
  }
}

bool looks_into_directory(const Op& op) {
  if (!op.object || op.has(kOpUnfinished)) return false;
  return op.kind == OpKind::rmdir ? !op.error || op.error == ENOTEMPTY : !op.entries.empty();
}

namespace {

constexpr NameState kAbsent{NameState::absent, kNoObject};
constexpr ObjectId kAttributeNames = 1ull << 63;  // added to an object's id: the parent of the names of its extended attributes
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

  // Adds a name that was made, or that could not be made because it exists or because its directory does not.
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
  // Adds an extended attribute, as a name in a parent that no file has. If it was only seen, its state is not remembered, because
  // programs ask for some attributes of every file.
  void attribute() {
    if (!op.object) return;
    const ObjectId place = op.object | kAttributeNames;
    const NameState there = present(op.object);
    const bool sets = op.kind == OpKind::setxattr, removes = op.kind == OpKind::removexattr;
    if (op.error == ENODATA) return add(place, op.name, kAbsent, {});
    if (sets && op.error == EEXIST) return add(place, op.name, there, {});
    if (op.error) return;
    if (!sets) return add(place, op.name, there, removes ? kAbsent : NameState{});
    const NameState before = op.flags & XATTR_CREATE ? kAbsent : op.flags & XATTR_REPLACE ? there : NameState{};
    add(place, op.name, before, there);
  }
  void lookup() {
    if (!op.error) saw(op.parent, op.name, present(op.object));
    if (op.error == ENOENT) saw(op.parent, op.name, kAbsent);
  }
  void rename() {
    if (op.error) {
      // In an exchange, either name may be missing. In another rename, the old name or a directory may be missing, so the state
      // afterwards stays unknown.
      if (op.error == ENOENT && !(op.flags & RENAME_EXCHANGE)) add(op.parent, op.name, kAbsent, {});
      if (op.error == EEXIST || op.error == ENOTEMPTY || op.error == EISDIR || op.error == ENOTDIR) {
        saw(op.parent, op.name, present(op.object));
        saw(op.parent2, op.name2, present(kNoObject));
      }
      return;
    }
    const bool exchange = op.flags & RENAME_EXCHANGE;
    if (op.object && op.object == op.object2) {  // two names of one file stay as they are
      saw(op.parent, op.name, present(op.object));
      return saw(op.parent2, op.name2, present(op.object));
    }
    // A whiteout is present afterwards, whose object is not recorded.
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
    case OpKind::setxattr:
    case OpKind::getxattr:
    case OpKind::removexattr:
      if (!v.gone()) {
        v.attribute();
        break;
      }
      [[fallthrough]];
    default:
      // Other operations that fail because their object is missing came after its removal.
      if (op.object && v.gone()) v.saw(op.object, {}, kAbsent);
  }
  return v.count;
}

}  // namespace fsr
