// SPDX-License-Identifier: Apache-2.0
#include "plan/accesses.hpp"

#include <fcntl.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>

#include "base/added_lookup.hpp"
#include "base/lock_table.hpp"
#include "plan/name_views.hpp"
#include "util/name_hash.hpp"
#include "util/object_set.hpp"

namespace fsr {

enum Facet : uint64_t { kExists, kContent, kNames, kXattr };

constexpr uint64_t kBelow = 7;      // key of one resource for all: which directory lies below which
constexpr uint64_t kAnyRights = 6;  // key of one resource for all: permissions of objects that are not known
static uint64_t object_key(ObjectId object, Facet facet) { return object << 3 | facet; }
constexpr uint64_t kHandle = 1ull << 61, kName = 1ull << 63;
static uint64_t handle_key(HandleId handle) { return kHandle | handle << 3; }
uint64_t key_of_name(ObjectId parent, std::string_view name) { return kName | name_hash(parent, name); }
KeyParts parts_of_key(uint64_t key) {
  if (key >= kHandle) return {.of = key >= kName ? KeyParts::name : KeyParts::other};
  return {.of = KeyParts::facet, .object = key >> 3, .existence = (key & 7) == kExists, .content = (key & 7) == kContent};
}
std::array<uint64_t, 4> keys_of_object(ObjectId object) {
  return {object_key(object, kExists), object_key(object, kContent), object_key(object, kNames), object_key(object, kXattr)};
}
uint64_t LockAccess::key() const {
  const uint64_t range[] = {object, start, end};
  return 1ull << 63 | XXH3_64bits(range, sizeof range);
}
uint64_t stream_key(ThreadId thread) { return 1ull << 62 | uint64_t(thread) << 3; }

namespace {

struct Collector {
  const Op& op;
  ObjectSet& known;
  ObjectSet& locked;
  ObjectSet& nameless;
  AccessList& list;

  void use(ObjectId object) {
    if (object) list.add(object_key(object, kExists), Access::shared, true, true);
  }
  // Adds a change of permissions (mode, owner, access control list), or of other attributes if `change` is false. The permissions
  // of a directory decide about the names in it, too.
  void rights(ObjectId object, bool change) {
    if (object) list.add(object_key(object, kExists), Access::exclusive, change);
    if (change) list.add(kAnyRights, Access::change, false);
  }
  // Orders an operation on names and changes of permissions, if these decided its outcome. It was denied because of what it found
  // under a name, or because of the directory. A rename that failed otherwise (not with ENOENT) was not denied, which is such an
  // outcome, too.
  void refused() {
    const bool denied = op.error == EACCES || op.error == EPERM;
    if (!denied && (op.kind != OpKind::rename || !op.error || op.error == ENOENT)) return;
    if (!op.object) list.add(kAnyRights, Access::shared);
    use(op.object);
    use(op.object2);
  }
  void remove(ObjectId object) {
    if (object <= kRootObject) return;
    list.add(object_key(object, kExists), Access::exclusive);
    nameless.insert(object);
  }
  // Adds the end of an open instance. The last release of an object without a name removes it, so operations that find the object
  // by its id come before. Which release is the last is not known here, so each release of such an object counts as a removal.
  void end_open() {
    open(op.handle);
    if (nameless.contains(op.object))
      list.add(object_key(op.object, kExists), Access::exclusive);
    else
      use(op.object);
  }
  // Adds an access if this is the first operation that tells the target which object an id means.
  void map_id(ObjectId object) {
    if (object > kRootObject && known.insert(object)) list.add(object_key(object, kExists), Access::exclusive, true, true);
  }
  void open(HandleId handle) {
    if (handle) list.add(handle_key(handle), Access::exclusive, true, true);
  }
  void with(HandleId handle) {
    if (handle) list.add(handle_key(handle), Access::shared, true, true);
  }
  void content(ObjectId object, Access::Mode mode) {
    if (object) list.add(object_key(object, kContent), mode, false);
  }
  void bytes() {
    if (op.error) return;
    auto end = [&](uint64_t length) { return op.offset + std::min(length, UINT64_MAX - op.offset); };
    list.from = op.offset;
    list.seen = end(op.result);
    list.to = op.kind == OpKind::read ? end(op.length) : list.seen;
  }
  // Adds a lookup's use of the object that it found. Its reply has the number of links, so it keeps its order with changes of the
  // links. (NFS-Ganesha 4.3 answers ESTALE from then on if an object is looked up while it is losing another name.)
  void see(ObjectId object) {
    if (object <= kRootObject) return;
    const bool first = known.insert(object) || is_added_lookup(op);  // an added lookup may find the object under another name
    list.add(object_key(object, kExists), first ? Access::exclusive : Access::shared, true, first);
  }
  // Uses the open instance if there is one, because it keeps the object; otherwise the object.
  void subject() {
    if (op.handle)
      with(op.handle);
    else
      use(op.object);
  }
  void name(ObjectId parent, std::string_view text, bool changes) {
    use(parent);
    list.add(key_of_name(parent, text), changes ? Access::exclusive : Access::shared);
    if (changes) list.add(object_key(parent, kNames), Access::change, false);
  }
  // Adds the release of all locks of the file, if any lock was seen on it.
  void unlock_all() {
    if (locked.contains(op.object)) list.lock = {.object = op.object};
  }
  void lock() {
    if (!op.object) return;
    locked.insert(op.object);
    const bool looks =
        op.kind == OpKind::getlk || (op.error && op.kind != OpKind::flock);  // a flock that fails may have lost its old lock
    list.lock = {.object = op.object, .mode = looks ? Access::shared : Access::exclusive};
    if (op.kind == OpKind::flock) return;
    list.lock.start = op.offset;
    list.lock.end = last_locked(op);
  }
  // Orders renames between directories. A directory can't be moved below itself, which is checked before other reasons to refuse.
  // Earlier moves to other directories decide whether it would be.
  void move(bool changes) {
    if (op.parent == op.parent2) return;
    if (changes) list.add(kBelow, Access::change, false);
    if (op.error && op.error != ENOENT) list.add(kBelow, Access::shared);
  }
  // Looks at the names that `directory` holds. They decide what a listing returns, and whether the directory can be removed or
  // replaced.
  void look_into(ObjectId directory, bool removes) {
    if (directory) list.add(object_key(directory, kNames), removes ? Access::exclusive : Access::shared);
  }
  void facet(Facet f, Access::Mode mode) {
    if (op.object) list.add(object_key(op.object, f), mode, false);
  }
  void collect();
};

void Collector::collect() {
  bool ok = op.error == 0 && !op.has(kOpUnfinished);
  bool changes = changes_names(op);
  switch (op.kind) {
    case OpKind::null:
      break;
    case OpKind::lookup:
      if (!only_forgets(op)) name(op.parent, op.name, false);
      if (ok) see(op.object);
      break;
    case OpKind::getattr:
    case OpKind::statx:
    case OpKind::ioctl:
      subject();
      break;
    case OpKind::access:
    case OpKind::readlink:
    case OpKind::statfs:
    case OpKind::syncfs:
      use(op.object);
      break;
    case OpKind::setattr:
      subject();
      if (op.set && (op.set->valid & kAttrSize)) content(op.object, Access::exclusive);
      rights(op.object, op.set && (op.set->valid & (kAttrMode | kAttrUid | kAttrGid)));
      break;
    case OpKind::open:
    case OpKind::opendir:
      use(op.object);
      if (ok) open(op.handle);
      if (op.open_flags & O_TRUNC) content(op.object, Access::exclusive);
      break;
    case OpKind::create:
      name(op.parent, op.name, changes);
      refused();
      if (ok) {
        see(op.object);
        open(op.handle);
        if ((op.open_flags & O_TRUNC) && !changes) content(op.object, Access::exclusive);
      }
      break;
    case OpKind::tmpfile:
      use(op.parent);
      if (ok) {
        map_id(op.object);
        nameless.insert(op.object);
        open(op.handle);
      }
      break;
    case OpKind::read:
    case OpKind::lseek:
    case OpKind::fsync:
    case OpKind::flush:
      subject();
      content(op.object, Access::shared);
      if (op.kind == OpKind::read) bytes();
      if (op.kind == OpKind::flush) unlock_all();
      break;
    case OpKind::write:
    case OpKind::fallocate:
      subject();
      content(op.object, Access::exclusive);
      if (op.kind == OpKind::write) bytes();
      break;
    case OpKind::copy_file_range:
      subject();
      if (op.handle2)
        with(op.handle2);
      else
        use(op.object2);
      if (op.object2 == op.object) {
        content(op.object, Access::exclusive);
      } else {
        content(op.object, Access::shared);
        content(op.object2, Access::exclusive);
      }
      break;
    case OpKind::release:
    case OpKind::releasedir:
      end_open();
      unlock_all();
      break;
    case OpKind::readdir:
    case OpKind::readdirplus:
      // A listing continues where the previous call of the same open instance ended.
      if (op.handle)
        list.add(handle_key(op.handle), Access::exclusive, true, true);
      else
        use(op.object);
      look_into(op.object, false);
      break;
    case OpKind::fsyncdir:
      subject();
      facet(kNames, Access::shared);
      break;
    case OpKind::mkdir:
    case OpKind::mknod:
    case OpKind::symlink:
      name(op.parent, op.name, changes);
      if (ok) map_id(op.object);
      break;
    case OpKind::link:
      use(op.object);
      name(op.parent2, op.name2, changes);
      break;
    case OpKind::unlink:
    case OpKind::rmdir:
      name(op.parent, op.name, changes);
      if (op.kind == OpKind::rmdir) look_into(op.object, ok);
      if (ok) remove(op.object);
      refused();
      break;
    case OpKind::rename:
      name(op.parent, op.name, changes);
      name(op.parent2, op.name2, changes);
      move(changes);
      look_into(op.object2, ok);
      if (ok) {
        remove(op.object);
        remove(op.object2);
      }
      refused();
      break;
    case OpKind::getxattr:
    case OpKind::listxattr:
      use(op.object);
      facet(kXattr, Access::shared);
      break;
    case OpKind::setxattr:
    case OpKind::removexattr:
      use(op.object);
      if (op.name.starts_with("system.posix_acl_")) rights(op.object, true);
      if (op.object) list.add(object_key(op.object, kXattr), Access::exclusive);
      break;
    case OpKind::getlk:
    case OpKind::setlk:
    case OpKind::flock:
      subject();
      lock();
      break;
  }
}

}  // namespace

void collect_accesses(const Op& op, ObjectSet& known, ObjectSet& locked, ObjectSet& nameless, AccessList& list) {
  list.count = 0;
  list.lock = {};
  list.from = list.seen = list.to = 0;
  // Operations that the kernel issued by itself belong to the open instance, not to the stream of the thread.
  if (!op.has(kOpKernel)) list.add(stream_key(op.thread), Access::exclusive, false);
  Collector{op, known, locked, nameless, list}.collect();
}

}  // namespace fsr
