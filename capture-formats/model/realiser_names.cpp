// SPDX-License-Identifier: Apache-2.0
// Realisation of operations on names.
#include <fcntl.h>

#include <cerrno>

#include "model/realiser_pick.hpp"

namespace fsr {

// The object of a name that exists, which the operation may not have told.
static Reference reference_of(const Symbol& s) {
  if (s.object.relation != Relation::none) return s.object;
  return s.parent.relation == Relation::name ? s.parent : Reference{Relation::recent, 0};
}

// An object of a hot name has symbols of its own, so that no other one removes it.
bool Realiser::may_change(Reference reference, ObjectId id) const {
  return id != root_ && id != kRootObject &&
         (reference.relation == Relation::hot || reference.relation == Relation::name || !tree_.node(id).hot);
}

bool Realiser::names(const Symbol& s, Actor& a, Op& op, Arena& arena) {
  if (s.error == ENOENT) return missing(s, a, op, arena);
  if (s.error) return existing(s, a, op, arena);
  switch (s.kind) {
    case OpKind::lookup:
      return look_up(s, a, op, arena);
    case OpKind::unlink:
    case OpKind::rmdir:
      return remove(s, a, op, arena);
    case OpKind::rename:
      return rename(s, a, op, arena);
    case OpKind::link:
      return link(s, a, op, arena);
    default:
      return make(s, a, op, arena);
  }
}

bool Realiser::missing(const Symbol& s, Actor& a, Op& op, Arena& arena) {
  if (s.kind == OpKind::create || s.kind == OpKind::mkdir || s.kind == OpKind::mknod || s.kind == OpKind::symlink ||
      s.kind == OpKind::link)
    return false;
  const auto [in, absent] = slot(s.parent, a);
  if (in == kNoObject) return false;
  op.parent = in;
  op.name = name(absent, arena);
  if (s.kind == OpKind::rename) {
    op.parent2 = in;
    op.name2 = name(tree_.new_name(), arena);
  }
  if (s.kind == OpKind::lookup) {
    a.absent_in = in;
    a.absent = absent;
  }
  touch(a, in);
  return true;
}

// Errors other than ENOENT: of names that exist.
bool Realiser::existing(const Symbol& s, Actor& a, Op& op, Arena& arena) {
  const bool makes = s.kind == OpKind::create || s.kind == OpKind::mkdir || s.kind == OpKind::mknod || s.kind == OpKind::symlink;
  const bool full = s.kind == OpKind::rmdir && s.error == ENOTEMPTY;
  if (!full && !(makes && s.error == EEXIST)) return false;
  const Reference reference = reference_of(s);
  const ObjectId object = pick(reference, full ? kDirectoryType : 0, a, [&](ObjectId id) {
    return id != root_ && id != kRootObject && (!full || !tree_.is_empty(id) || tree_.may_hold_more(id));
  });
  if (object == kNoObject) return false;
  if (full && tree_.is_empty(object)) {
    // The name that keeps the directory must be known to a reader of the operations: only a name that was used is.
    return false;
  }
  op.parent = tree_.node(object).parent;
  op.name = name(tree_.node(object).name, arena);
  op.mode = s.kind == OpKind::mkdir ? 0755 : S_IFREG | 0644;
  op.open_flags = s.kind == OpKind::create ? s.argument | O_CREAT | O_EXCL : 0;
  if (s.kind == OpKind::symlink) op.data = kModelTarget;
  touch(a, op.parent);
  return true;
}

bool Realiser::look_up(const Symbol& s, Actor& a, Op& op, Arena& arena) {
  ObjectId object = kNoObject;
  auto named = [&](ObjectId id) { return id != root_ && id != kRootObject; };
  if (s.object.relation == Relation::fresh || s.object.relation == Relation::none) {
    const uint64_t size = s.type == kRegularType && s.size ? size_for(s) : kUnknownSize;
    object = discover(s.parent, s.type, a, size);
  }
  if (object == kNoObject) object = pick_file(s, s.type, a, named);
  if (object == kNoObject || !named(object)) return false;
  op.object = object;
  op.parent = tree_.node(object).parent;
  op.name = name(tree_.node(object).name, arena);
  op.attr = attributes(object, arena);
  touch(a, object);
  return true;
}

bool Realiser::make(const Symbol& s, Actor& a, Op& op, Arena& arena) {
  const bool opens = s.kind == OpKind::create;
  if (opens && s.extent == Extent::same) {
    const ObjectId object = pick(s.object, kRegularType, a, [](ObjectId) { return true; });
    if (object == kNoObject) return false;
    op.object = object;
    op.parent = tree_.node(object).parent;
    op.name = name(tree_.node(object).name, arena);
    if (s.argument & O_TRUNC) {
      tree_.node(object).size = 0;
      tree_.node(object).open_end = false;
    }
    opened(a, op, object, s.argument & ~uint32_t(O_EXCL), false);
    op.mode = S_IFREG | 0644;
    op.attr = attributes(object, arena);
    touch(a, object);
    return true;
  }
  const auto [in, number] = slot(s.parent, a);
  if (in == kNoObject) return false;
  const uint32_t type = s.kind == OpKind::mkdir                                       ? kDirectoryType
                        : s.kind == OpKind::symlink                                   ? kSymlinkType
                        : s.kind == OpKind::mknod && (s.argument & S_IFMT) != S_IFREG ? (S_IFIFO >> 12)
                                                                                      : kRegularType;
  op.parent = in;
  op.name = name(number, arena);
  op.object = tree_.add(uint8_t(type), in, number, true);
  named(op.object);
  op.mode = type << 12 | (type == kDirectoryType ? 0755u : 0644u);
  op.op_flags |= kOpCreated;
  if (s.kind == OpKind::symlink) op.data = kModelTarget;
  if (opens) opened(a, op, op.object, s.argument, false);
  op.attr = attributes(op.object, arena);
  touch(a, in);
  touch(a, op.object);
  return true;
}

bool Realiser::remove(const Symbol& s, Actor& a, Op& op, Arena& arena) {
  const bool directory = s.kind == OpKind::rmdir;
  const Reference reference = reference_of(s);
  const ObjectId object = pick(reference, directory ? kDirectoryType : 0, a, [&](ObjectId id) {
    return may_change(reference, id) && (directory ? tree_.is_empty(id) : tree_.node(id).type != kDirectoryType);
  });
  if (object == kNoObject) return false;
  const auto [parent, number] = tree_.remove_name(object);
  unnamed(object);
  if (tree_.node(object).linked) named(object);
  op.parent = parent;
  op.name = name(number, arena);
  op.object = object;
  touch(a, object);
  return true;
}

bool Realiser::rename(const Symbol& s, Actor& a, Op& op, Arena& arena) {
  constexpr uint32_t kExchange = 2;  // RENAME_EXCHANGE
  if (s.argument & kExchange) return false;
  const Reference reference = reference_of(s);
  const ObjectId object = pick(reference, s.type, a, [&](ObjectId id) {
    const ModelNode& n = tree_.node(id);
    return may_change(reference, id) && (!n.links || n.links->empty());
  });
  if (object == kNoObject) return false;
  const bool is_directory = tree_.node(object).type == kDirectoryType;
  ObjectId to = kNoObject, replaced = kNoObject;
  uint64_t number = 0;
  if (s.second.relation != Relation::none) {
    replaced = pick(s.second, tree_.node(object).type, a, [&](ObjectId id) {
      const ModelNode& n = tree_.node(id);
      return id != object && may_change(s.second, id) && !tree_.is_below(n.parent, object) && !tree_.is_below(object, id) &&
             (!n.links || n.links->empty()) && (!is_directory || tree_.is_empty(id));
    });
    if (replaced == kNoObject) return false;
    to = tree_.node(replaced).parent;
    number = tree_.node(replaced).name;
  } else {
    const Slot free = slot(s.parent, a, is_directory ? object : kNoObject);
    to = free.directory;
    number = free.name;
    if (to == kNoObject || (is_directory && tree_.is_below(to, object))) return false;
  }
  op.object = object;
  op.object2 = replaced;
  op.parent = tree_.node(object).parent;
  op.name = name(tree_.node(object).name, arena);
  op.parent2 = to;
  op.name2 = name(number, arena);
  op.flags = s.argument;
  if (replaced != kNoObject) {
    tree_.remove_name(replaced);
    unnamed(replaced);
  }
  unnamed(object);
  tree_.move(object, to, number);
  named(object);
  touch(a, object);
  return true;
}

bool Realiser::link(const Symbol& s, Actor& a, Op& op, Arena& arena) {
  const ObjectId object = pick(s.object, kRegularType, a, [](ObjectId) { return true; });
  if (object == kNoObject) return false;
  const auto [in, number] = slot(s.parent, a);
  if (in == kNoObject) return false;
  op.object = object;
  op.parent2 = in;
  op.name2 = name(number, arena);
  tree_.add_link(object, in, number);
  if (Hot* hot = hot_name(in, number)) {
    hot->object = object;
    hot->told = true;
  }
  op.attr = attributes(object, arena);
  touch(a, object);
  return true;
}

}  // namespace fsr
