// SPDX-License-Identifier: Apache-2.0
#include "live_state.hpp"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "live_impl.hpp"
#include "util/units.hpp"

namespace fsr {

constexpr size_t kDirectory = 48;  // bytes of an entry of `children`, about

void LiveState::Impl::discover(ObjectId parent, std::string_view name, ObjectId id, uint32_t type) {
  if (discovered) discovered(parent, name, id, type);
}

LiveObject* LiveState::Impl::find(ObjectId id) {
  if (id == kNoObject) return nullptr;
  return objects.find(id, [&](const LiveObject& o) { return o.id == id; });
}

LiveObject& LiveState::Impl::take(ObjectId id) {
  highest = std::max(highest, id);
  if (LiveObject* o = find(id)) return *o;
  LiveObject& o = objects.add(id);
  o.id = id;
  return o;
}

void LiveState::Impl::forget_nameless(LiveObject& o) {
  if (o.id == kRootObject || o.names != 0 || o.opens != 0) return;
  drop_locks(o.id);
  text -= o.target.size();
  objects.erase(o.id, o);
}

void LiveState::Impl::point(LiveObject& object, std::string_view target) {
  text += target.size() - object.target.size();
  object.target = target;
}

void LiveState::Impl::drop_locks(ObjectId id) {
  auto it = locks.find(id);
  if (it == locks.end()) return;
  lock_count -= it->second.size();
  locks.erase(it);
}

size_t LiveState::Impl::memory() const {
  // 64: nodes of maps, to which the heap adds.
  return objects.memory() + names.memory() + opens.memory() + text + children.size() * kDirectory +
         lock_count * (2 * sizeof(LiveLock) + 64) + listings.memory();
}

void LiveState::Impl::too_large() const {
  throw std::length_error("the " + format_count(objects.size()) + " files and " + format_count(names.size()) +
                          " names alive at one time take more than " + format_size(limit) +
                          " of memory, the limit on this machine");
}

LiveName* LiveState::Impl::find_name(const NamePlace& at) {
  return names.find(at.hash, [&](const LiveName& n) { return n.parent == at.parent && n.name == at.name; });
}

void LiveState::Impl::bind(const NamePlace& at, ObjectId id, uint32_t type) {
  if (LiveName* n = find_name(at)) {
    n->used = true;
    if (type) n->type = type;
    if (n->object == id || id == kNoObject) return;
    const ObjectId old = n->object;
    n->object = id;
    ++take(id).names;
    drop_name_of(old);
    return;
  }
  add_name(at, id, type);
}

// Enters a name that is not known.
void LiveState::Impl::add_name(const NamePlace& at, ObjectId id, uint32_t type) {
  text += at.name.size();
  LiveName& n = names.add(at.hash);
  n.parent = at.parent;
  n.object = id;
  n.type = type;
  n.name = at.name;
  ++children[at.parent];
  if (id) ++take(id).names;
}

void LiveState::Impl::drop_name_of(ObjectId id) {
  LiveObject* o = find(id);
  if (!o) return;
  if (o->names) --o->names;
  forget_nameless(*o);
}

void LiveState::Impl::unbind(const NamePlace& at) {
  if (LiveName* n = find_name(at)) unbind(at, *n);
}

void LiveState::Impl::unbind(const NamePlace& at, LiveName& name) {
  const ObjectId id = name.object;
  text -= at.name.size();
  names.erase(at.hash, name);
  if (auto parent = children.find(at.parent); --parent->second == 0) children.erase(parent);
  drop_name_of(id);
}

// A pointer goes round the names and removes those that were not used since its last visit. The directories above known and open
// objects stay.
void LiveState::Impl::forget_unused(size_t bytes, size_t steps) {
  for (; steps && objects.in_use() + names.in_use() + text + children.size() * kDirectory > bytes; --steps) {
    LiveName* n = names.next(hand);
    if (!n || std::exchange(n->used, false)) continue;
    const LiveObject* o = find(n->object);
    if (o && (o->opens != 0 || children.contains(o->id))) continue;
    unbind({n->parent, std::string(n->name)});
  }
}

static void merge(Attr& into, const Attr& from) {
  if (from.valid & kAttrMode) into.mode = from.mode;
  if (from.valid & kAttrUid) into.uid = from.uid;
  if (from.valid & kAttrGid) into.gid = from.gid;
  if (from.valid & kAttrSize) into.size = from.size;
  if (from.valid & kAttrNlink) into.nlink = from.nlink;
  if (from.valid & kAttrAtime) into.atime = from.atime;
  if (from.valid & kAttrMtime) into.mtime = from.mtime;
  if (from.valid & kAttrCtime) into.ctime = from.ctime;
  if (from.valid & kAttrBlocks) into.blocks = from.blocks;
  if (from.valid & kAttrRdev) into.rdev = from.rdev;
  if (from.valid & kAttrBtime) into.btime = from.btime;
  into.valid |= from.valid;
}

void LiveState::Impl::learn(ObjectId id, const Attr* attr) {
  if (LiveObject* o = attr ? find(id) : nullptr) merge(o->attr, *attr);
}

uint32_t LiveState::Impl::type_of(const Op& op, ObjectId id) {
  if (op.attr && op.attr->valid & kAttrMode) return op.attr->mode & S_IFMT;
  LiveObject* o = find(id);
  return o && o->attr.valid & kAttrMode ? o->attr.mode & S_IFMT : 0;
}

// Enters a name that the operation found. The name is new unless the sequence created it or found it before.
void LiveState::Impl::found(ObjectId parent, std::string_view name, ObjectId id, const Op& op, uint32_t type) {
  if (!parent || name.empty()) return;
  const NamePlace at(parent, name);
  LiveName* n = find_name(at);
  const bool news = !n || (n->object == kNoObject && id != kNoObject && !n->made);
  if (!type && n) type = n->type;
  bind(at, id, type);
  learn(id, op.attr);
  if (news) discover(parent, name, id, type);
}

// Enters an object that is used without a name. An object with a number below the highest was known before and forgotten.
void LiveState::Impl::met(ObjectId id, const Attr* attr, uint32_t type) {
  const bool news = id > highest;
  if (news) take(id);
  learn(id, attr);
  if (news) discover(kNoObject, {}, id, attr && attr->valid & kAttrMode ? attr->mode & S_IFMT : type);
}

void LiveState::Impl::made(const Op& op, uint32_t type) {
  if (!op.parent || op.name.empty()) return;
  const NamePlace at(op.parent, op.name);
  unbind(at);
  add_name(at, op.object, type);
  fresh(op, type);
}

void LiveState::Impl::fresh(const Op& op, uint32_t type) {
  if (!op.object) return;
  LiveObject& o = take(op.object);
  o.attr = {.valid = kAttrMode, .mode = type | (op.mode & 07777)};
  if (type == S_IFREG) o.attr.valid |= kAttrSize;
  if (type == S_IFLNK) point(o, op.data);
  learn(op.object, op.attr);
}

void LiveState::Impl::opened(const Op& op, bool directory) {
  if (!op.handle || !op.object) return;
  LiveObject& o = take(op.object);
  if (op.open_flags & O_TRUNC && !directory && o.attr.valid & kAttrSize && !(op.attr && op.attr->valid & kAttrSize))
    o.attr.size = 0;
  if (opens.find(op.handle, [&](const LiveOpen& h) { return h.handle == op.handle; })) return;
  ++o.opens;
  opens.add(op.handle) = {
      .handle = op.handle, .object = op.object, .open_flags = op.open_flags, .thread = op.thread, .directory = directory};
}

void LiveState::Impl::closed(const Op& op) {
  LiveOpen* h = opens.find(op.handle, [&](const LiveOpen& k) { return k.handle == op.handle; });
  listings.closed(op.handle);
  if (!h) return;
  const ObjectId id = h->object;
  opens.erase(op.handle, *h);
  // Locks of the open file description end here, too. Locks of a process ended with an earlier close.
  if (auto it = locks.find(id); it != locks.end()) {
    lock_count -= std::erase_if(it->second, [&](const auto& l) { return l.second.handle == op.handle; });
    if (it->second.empty()) locks.erase(it);
  }
  LiveObject* o = find(id);
  if (!o) return;
  if (o->opens) --o->opens;
  forget_nameless(*o);
}

void LiveState::Impl::grow(ObjectId id, uint64_t end) {
  LiveObject* o = find(id);
  if (o && o->attr.valid & kAttrSize) o->attr.size = std::max(o->attr.size, end);
}

void LiveState::Impl::allocated(const Op& op) {
  LiveObject* o = find(op.object);
  if (!o || !(o->attr.valid & kAttrSize)) return;
  if (op.mode & FALLOC_FL_COLLAPSE_RANGE)
    o->attr.size -= std::min(o->attr.size, op.length);
  else if (op.mode & FALLOC_FL_INSERT_RANGE)
    o->attr.size += op.length;
  else if (!(op.mode & FALLOC_FL_KEEP_SIZE))
    o->attr.size = std::max(o->attr.size, op.offset + op.length);
}

static uint64_t end_of(const LiveLock& l) { return l.length ? l.offset + l.length : UINT64_MAX; }
static uint64_t end_of(const Op& op) {
  const bool to_end = op.kind == OpKind::flock || op.length == 0 || op.offset + op.length < op.offset;
  return to_end ? UINT64_MAX : op.offset + op.length;
}

// The new lock replaces the owner's old locks in its range; their parts on either side stay. Neighbours of one mode and one open
// instance become one lock. The kernel joins those of several open instances, too.
void LiveState::Impl::locked(const Op& op, bool flock) {
  Locks& held = locks[op.object];
  const size_t before = held.size();
  const bool takes = op.mode != uint32_t(flock ? LOCK_UN : F_UNLCK);
  LiveLock taken{.object = op.object, .handle = op.handle, .owner = op.owner, .mode = op.mode, .flock = flock};
  uint64_t from = flock ? 0 : op.offset;
  uint64_t end = end_of(op);
  const LockKey first{flock, flock ? op.handle : op.owner, from};
  auto it = held.upper_bound(first);
  if (it != held.begin() && std::prev(it)->first.same_owner(first)) --it;
  while (it != held.end() && it->first.same_owner(first) && it->second.offset <= end) {
    const LiveLock old = it->second;
    const uint64_t old_end = end_of(old);
    const bool joins = takes && old.mode == op.mode && old.handle == op.handle;
    const bool touches = joins ? old_end >= from : old_end > from && old.offset < end;
    const auto place = it++;
    if (!touches) continue;
    held.erase(place);
    if (joins) {
      from = std::min(from, old.offset);
      end = std::max(end, old_end);
      continue;
    }
    if (old.offset < from) put_lock(held, old, old.offset, from);
    if (old_end > end) put_lock(held, old, end, old_end);
  }
  if (takes) put_lock(held, taken, from, end);
  lock_count += held.size() - before;
  if (held.empty()) locks.erase(op.object);
}

bool LiveState::Impl::grants(const Op& op) const {
  const auto held = locks.find(op.object);
  if (held == locks.end()) return true;
  const bool flock = op.kind == OpKind::flock;
  const uint64_t owner = flock ? op.handle : op.owner, from = flock ? 0 : op.offset;
  const uint64_t end = end_of(op);
  auto exclusive = [&](uint32_t mode) { return flock ? (mode & LOCK_EX) != 0 : mode == F_WRLCK; };
  return std::none_of(held->second.begin(), held->second.end(), [&](const auto& entry) {
    const auto& [key, l] = entry;
    return key.flock == flock && key.owner != owner && (exclusive(op.mode) || exclusive(l.mode)) && l.offset < end &&
           from < end_of(l);
  });
}

void LiveState::Impl::put_lock(Locks& held, LiveLock lock, uint64_t from, uint64_t end) {
  lock.offset = from;
  lock.length = end == UINT64_MAX ? 0 : end - from;
  held.insert_or_assign(LockKey::of(lock), lock);
}

void LiveState::Impl::unlock_owner(const Op& op) {
  auto it = locks.find(op.object);
  if (it == locks.end() || op.owner == 0) return;
  const LockKey first{false, op.owner, 0};
  Locks& held = it->second;
  const size_t before = held.size();
  for (auto lock = held.lower_bound(first); lock != held.end() && lock->first.same_owner(first);) lock = held.erase(lock);
  lock_count -= before - held.size();
  if (held.empty()) locks.erase(it);
}

void LiveState::Impl::renamed(const Op& op) {
  LiveName* n = find_name({op.parent, op.name});
  ObjectId moved = op.object ? op.object : n ? n->object : kNoObject;
  if (!n || (n->object == kNoObject && moved)) found(op.parent, op.name, moved, op, type_of(op, moved));
  n = find_name({op.parent2, op.name2});
  ObjectId other = op.object2 ? op.object2 : n ? n->object : kNoObject;
  const bool exchange = (op.flags & RENAME_EXCHANGE) != 0;
  if (exchange || op.object2)
    if (!n || (n->object == kNoObject && other)) {
      Op quiet;
      found(op.parent2, op.name2, other, quiet, type_of(quiet, other));
    }
  if (op.parent == op.parent2 && op.name == op.name2) return;
  if (moved && moved == other && !exchange) return;  // two links to one file: rename does nothing
  n = find_name({op.parent, op.name});
  const uint32_t type = n ? n->type : 0;
  n = find_name({op.parent2, op.name2});
  const uint32_t other_type = n ? n->type : 0;
  // Both stay referenced while their names change hands.
  if (moved) ++take(moved).opens;
  if (other) ++take(other).opens;
  unbind({op.parent, op.name});
  unbind({op.parent2, op.name2});
  listings.changed(op.parent, op.name);
  bind({op.parent2, op.name2}, moved, type);
  if (exchange) bind({op.parent, op.name}, other, other_type);
  if (op.flags & RENAME_WHITEOUT) {
    bind({op.parent, op.name}, kNoObject, S_IFCHR);
    find_name({op.parent, op.name})->made = true;
  }
  for (ObjectId id : {moved, other})
    if (id) {
      LiveObject& o = take(id);
      --o.opens;
      forget_nameless(o);
    }
}

void LiveState::Impl::removed(const Op& op, uint32_t type) {
  const NamePlace at(op.parent, op.name);
  LiveName* n = find_name(at);
  if (!n || (n->object == kNoObject && op.object)) {
    found(op.parent, op.name, op.object, op, type ? type : type_of(op, op.object));
    n = find_name(at);
  }
  if (n) unbind(at, *n);
  listings.changed(op.parent, op.name);
}

// A listing may show a name that was removed after it began. That name did not exist before the sequence because of this.
void LiveState::Impl::listed(const Op& op) {
  for (const DirEntry& e : op.entries)
    if (e.name != "." && e.name != ".." && !find_name({op.object, e.name}) && !listings.has_changed(op.object, e.name))
      found(op.object, e.name, kNoObject, op, e.type);
  listings.listed(op);
}

void LiveState::Impl::refused(const Op& op) {
  switch (op.kind) {
    case OpKind::create:
    case OpKind::mkdir:
    case OpKind::mknod:
    case OpKind::symlink:
      if (op.error == EEXIST && !find_name({op.parent, op.name})) found(op.parent, op.name, kNoObject, op, 0);
      break;
    case OpKind::rename:
      if (op.error == EEXIST && op.flags & RENAME_NOREPLACE && !find_name({op.parent2, op.name2}))
        found(op.parent2, op.name2, kNoObject, op, 0);
      break;
    case OpKind::link:
      if (op.error == EEXIST && !find_name({op.parent2, op.name2})) found(op.parent2, op.name2, kNoObject, op, 0);
      break;
    case OpKind::lookup:
    case OpKind::unlink:
    case OpKind::rmdir:
      // Another process removed the name, and the trace does not show it.
      if (op.error == ENOENT) unbind({op.parent, op.name});
      if (op.error == EISDIR && !find_name({op.parent, op.name})) found(op.parent, op.name, kNoObject, op, S_IFDIR);
      if (op.error == ENOTDIR && op.kind == OpKind::rmdir && !find_name({op.parent, op.name}))
        found(op.parent, op.name, kNoObject, op, 0);
      break;
    default:
      break;
  }
}

void LiveState::Impl::apply(const Op& op) {
  if (op.has(kOpUnfinished)) return;
  if (op.error) return refused(op);
  if (op.parent) met(op.parent, nullptr, S_IFDIR);
  if (op.parent2) met(op.parent2, nullptr, S_IFDIR);
  switch (op.kind) {
    case OpKind::lookup:
      return found(op.parent, op.name, op.object, op, type_of(op, op.object));
    case OpKind::getattr:
    case OpKind::statx:
    case OpKind::access:
    case OpKind::getxattr:
    case OpKind::setxattr:
    case OpKind::listxattr:
    case OpKind::removexattr:
      return met(op.object, op.attr, 0);
    case OpKind::setattr:
      met(op.object, op.attr, 0);
      if (op.set && find(op.object)) {
        Attr set = *op.set;
        LiveObject* o = find(op.object);
        set.valid &= ~uint32_t(kAttrAtimeNow | kAttrMtimeNow);
        if (set.valid & kAttrMode) set.mode = (o->attr.mode & S_IFMT) | (set.mode & 07777);
        merge(o->attr, set);
        learn(op.object, op.attr);
      }
      return;
    case OpKind::readlink:
      met(op.object, op.attr, 0);
      if (LiveObject* o = find(op.object)) point(*o, op.data);
      return;
    case OpKind::open:
    case OpKind::opendir:
      met(op.object, op.attr, 0);
      return opened(op, op.kind == OpKind::opendir);
    case OpKind::create:
      if (op.has(kOpCreated))
        made(op, S_IFREG);
      else
        found(op.parent, op.name, op.object, op, type_of(op, op.object));
      return opened(op, false);
    case OpKind::tmpfile:
      fresh(op, S_IFREG);
      return opened(op, false);
    case OpKind::write:
      met(op.object, op.attr, 0);
      return grow(op.object, op.offset + op.result);
    case OpKind::copy_file_range:
      return grow(op.object2, op.offset2 + op.result);
    case OpKind::fallocate:
      return allocated(op);
    case OpKind::release:
    case OpKind::releasedir:
      return closed(op);
    case OpKind::flush:
      return unlock_owner(op);
    case OpKind::setlk:
      return locked(op, false);
    case OpKind::flock:
      return locked(op, true);
    case OpKind::readdir:
    case OpKind::readdirplus:
      return listed(op);
    case OpKind::mkdir:
      return made(op, S_IFDIR);
    case OpKind::mknod:
      return made(op, op.mode & S_IFMT ? op.mode & S_IFMT : S_IFREG);
    case OpKind::symlink:
      return made(op, S_IFLNK);
    case OpKind::link:
      met(op.object, op.attr, 0);
      unbind({op.parent2, op.name2});
      return bind({op.parent2, op.name2}, op.object, type_of(op, op.object));
    case OpKind::unlink:
      return removed(op, 0);
    case OpKind::rmdir:
      return removed(op, S_IFDIR);
    case OpKind::rename:
      return renamed(op);
    default:
      return;
  }
}

LiveState::LiveState() : impl_(std::make_unique<Impl>()) { impl_->take(kRootObject); }
LiveState::~LiveState() = default;
LiveState::LiveState(LiveState&&) noexcept = default;
LiveState& LiveState::operator=(LiveState&&) noexcept = default;

void LiveState::on_discovered(Discovered callback) { impl_->discovered = std::move(callback); }
void LiveState::apply(const Op& op) {
  impl_->apply(op);
  impl_->check_size();
}
void LiveState::forget_unused(size_t bytes, size_t steps) { impl_->forget_unused(bytes, steps); }
size_t LiveState::memory() const { return impl_->memory(); }
void LiveState::limit(size_t bytes) { impl_->limit = bytes; }
bool LiveState::grants(const Op& op) const { return impl_->grants(op); }
const LiveObject* LiveState::object(ObjectId id) const { return impl_->find(id); }
const LiveOpen* LiveState::open(HandleId handle) const {
  return impl_->opens.find(handle, [&](const LiveOpen& h) { return h.handle == handle; });
}
size_t LiveState::objects() const { return impl_->objects.size(); }

bool LiveState::lookup(ObjectId parent, std::string_view name, ObjectId* object) const {
  const LiveName* n = impl_->find_name({parent, name});
  *object = n ? n->object : kNoObject;
  return n != nullptr;
}
void LiveState::each_object(const std::function<void(const LiveObject&)>& visit) const { impl_->objects.each(visit); }
void LiveState::each_name(const std::function<void(ObjectId, std::string_view, ObjectId, uint32_t)>& visit) const {
  impl_->names.each([&](const LiveName& n) { visit(n.parent, n.name, n.object, n.type); });
}
void LiveState::each_open(const std::function<void(const LiveOpen&)>& visit) const { impl_->opens.each(visit); }
void LiveState::each_lock(const std::function<void(const LiveLock&)>& visit) const {
  for (const auto& [id, held] : impl_->locks)
    for (const auto& [key, l] : held) visit(l);
}

}  // namespace fsr
