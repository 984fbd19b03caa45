// SPDX-License-Identifier: Apache-2.0
// Realisation of operations on open instances.
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>

#include "model/realiser_pick.hpp"

namespace fsr {

namespace {

bool readable(uint32_t flags) { return (flags & O_ACCMODE) != O_WRONLY; }
bool writable(uint32_t flags) { return (flags & O_ACCMODE) != O_RDONLY; }

constexpr uint64_t kBlock = 4096;  // bytes; offsets elsewhere are multiples of it, or of a power of two that divides the length

uint64_t end_of(const ModelLock& lock) { return lock.length ? lock.offset + lock.length : UINT64_MAX; }
bool overlap(const ModelLock& a, const ModelLock& b) {
  return a.flock == b.flock && a.offset < end_of(b) && b.offset < end_of(a);
}

bool asks_for_lock(OpKind kind) { return kind == OpKind::setlk || kind == OpKind::getlk || kind == OpKind::flock; }
bool unlocks(const Symbol& s) {
  const uint32_t mode = s.argument & kLockMode;
  return s.kind == OpKind::flock ? (mode & LOCK_UN) != 0 : mode == F_UNLCK;
}

// True: another owner has locked what is `wanted`.
bool in_the_way(const ModelNode& n, const ModelLock& wanted) {
  return n.locks && std::any_of(n.locks->held.begin(), n.locks->held.end(), [&](const ModelLock& held) {
           return held.owner != wanted.owner && overlap(held, wanted) && (held.exclusive || wanted.exclusive);
         });
}

// Takes a range away from the locks of its owner. Their parts on either side stay.
void cut(std::vector<ModelLock>& locks, const ModelLock& range) {
  std::vector<ModelLock> kept;
  const auto keep = [&](ModelLock lock, uint64_t from, uint64_t end) {
    lock.offset = from;
    lock.length = end == UINT64_MAX ? 0 : end - from;
    if (from < end) kept.push_back(lock);
  };
  for (const ModelLock& held : locks) {
    if (held.owner != range.owner || !overlap(held, range)) {
      kept.push_back(held);
      continue;
    }
    keep(held, held.offset, std::max(held.offset, range.offset));
    keep(held, std::min(end_of(held), end_of(range)), end_of(held));
  }
  locks = std::move(kept);
}

// Owners of locks. A process has the number of its thread.
uint64_t process_owner(const Actor& a) { return a.thread << 1; }
uint64_t instance_owner(HandleId handle) { return handle << 1 | 1; }

bool refusal_holds(const Symbol& s) {
  return s.error == EOPNOTSUPP || (s.error == EAGAIN && asks_for_lock(s.kind) && !unlocks(s)) || s.kind == OpKind::ioctl ||
         s.kind == OpKind::getxattr || s.kind == OpKind::removexattr || (s.kind == OpKind::lseek && s.error == ENXIO);
}

}  // namespace

// Chooses an offset in a file of `size` bytes at which the transfer has the extent of the symbol, if there is one.
uint64_t Realiser::elsewhere(const Symbol& s, uint64_t size, uint64_t length) {
  const uint64_t unit = std::min(kBlock, length ? length & (~length + 1) : 1);
  const bool reads = s.kind == OpKind::read;
  if (s.extent == Extent::made) return size + std::max<uint64_t>(1, size_of(OpKind::write, kBeyondEnd));
  if (reads && s.extent == Extent::empty) return (size + unit - 1) / unit * unit + unit * random_.below(2);
  if (reads && s.extent == Extent::partial) return size ? (size - 1) / unit * unit : 0;
  const uint64_t most = reads ? size - std::min(size, length) : size ? size - 1 : 0;
  return random_.between(0, most) / unit * unit;
}

// Lets a read decide where a file ends that existed before: as far as it reads at least, or within it.
void Realiser::decide_end(const Symbol& s, const Op& op, ModelNode& n) {
  const auto set = [&](uint64_t size) { tree_.set_initial_size(op.object, size); };
  const uint64_t end = op.offset + op.length;
  if (s.extent == Extent::complete) {
    if (end > n.size) set(end);
    n.seen = std::max(n.seen, end);
    return;
  }
  n.open_end = false;
  if (n.seen > op.offset) return;
  if (s.extent == Extent::empty && n.size > op.offset) set(op.offset);
  if (s.extent != Extent::partial || op.length < 2 || (n.size > op.offset && n.size < end)) return;
  set(op.offset + random_.between(1, op.length - 1));
}

// Chooses offset, length and result so that `symbol` says what happens. `position`: where the one before ended.
bool Realiser::transfer(const Symbol& s, Op& op, uint64_t& position) {
  if (s.error) return false;
  ModelNode& n = tree_.node(op.object);
  const bool reads = s.kind == OpKind::read;
  const bool rest = reads && s.extent == Extent::same;
  op.length = rest ? 0 : size_for(s);
  switch (s.place) {
    case Place::onward:
      op.offset = position;
      break;
    case Place::append:
      op.op_flags |= kOpAppend;
      [[fallthrough]];
    case Place::end:
      op.offset = n.size;
      break;
    case Place::repeat:
    case Place::again:
      if (s.offset) {
        op.offset = s.offset - 1;
        break;
      }
      if (auto began = began_.find({op.object, s.size}); began != began_.end()) {
        const std::vector<uint64_t>& list = began->second.list;
        op.offset = s.place == Place::repeat ? began->second.last : list[random_.below(list.size())];
        break;
      }
      [[fallthrough]];
    case Place::elsewhere: {
      constexpr int kTries = 16;
      if (s.offset) {
        op.offset = s.offset - 1;
        break;
      }
      auto began = began_.find({op.object, s.size});
      for (int tries = 0; tries == 0 || (tries < kTries && began != began_.end() && began->second.set.contains(op.offset));
           ++tries)
        op.offset = elsewhere(s, n.size, op.length);
      break;
    }
    default:
      op.offset = 0;
  }
  if (reads && n.open_end && !rest) decide_end(s, op, n);
  if (rest) n.open_end = false;
  if (reads) {
    // The rest of the file decides, because a program asks for as much as it was told that there is.
    const uint64_t left = n.size - std::min(n.size, op.offset);
    if (rest && op.offset > 0 && left > largest_read_ && !any_size_) return false;  // the load would have read a part of it
    if (rest) op.length = left;
    if (left && s.extent == Extent::partial && op.length <= left) op.length = left + 1;
    if (left && s.extent == Extent::complete && op.length > left) op.length = left;
    op.result = std::min(op.length, n.size - std::min(n.size, op.offset));
    const Extent extent = op.result == 0 ? Extent::empty : op.result < op.length ? Extent::partial : Extent::complete;
    if (extent != (rest ? Extent::complete : s.extent) && !any_size_) return false;
  } else {
    if (s.extent == Extent::partial || (s.extent == Extent::empty && op.length)) return false;
    op.result = op.length;
    // Where the load did not tell any size, a file that existed goes on beyond what is written into it.
    n.open_end &= model_.files.empty() && s.place != Place::end && s.place != Place::append && s.extent != Extent::made;
    n.seen = std::max(n.seen, op.offset + op.result);
    n.size = std::max(n.size, op.offset + op.result);
  }
  position = op.offset + op.result;
  Began& began = began_[{op.object, s.size}];
  began.last = op.offset;
  if (began.set.insert(op.offset).second) began.list.push_back(op.offset);
  return true;
}

bool Realiser::list(const Symbol& s, Actor& a, Op& op, Open& open, Arena& arena) {
  if (s.error || !tree_.node(open.object).linked) return false;  // a removed directory can't be listed
  constexpr uint64_t kBuffer = 4096, kEntry = 64;                // bytes of the request, and at most of an entry
  op.length = kBuffer;
  const ModelDirectory& directory = *tree_.node(open.object).directory;
  if (s.extent == Extent::empty) {
    // A name that came since the listing may show at its end, or not.
    if (open.returned ? open.changes != directory.changes : tree_.may_hold_more(open.object) || !tree_.is_empty(open.object))
      return false;
    op.offset = open.returned;
    return true;
  }
  const uint16_t hot = tree_.node(open.object).hot;
  const uint64_t known = open.object == root_ ? model_.root_entries : hot ? model_.hot[hot - 1].size : 0;
  const uint64_t made_up = s.extent != Extent::complete ? 0 : known ? known : std::min(size_of(s.kind, s.size), entries_left_);
  const size_t before = tree_.initial().size();
  const auto names = tree_.list(open.object, made_up);
  entries_left_ -= std::min<uint64_t>(entries_left_, tree_.initial().size() - before);
  const size_t n = names.size() + 2;
  while (op.length < n * kEntry) op.length *= 2;
  DirEntry* entries = arena.make<DirEntry>(n);
  entries[0] = {.name = ".", .type = S_IFDIR};
  entries[1] = {.name = "..", .type = S_IFDIR};
  a.listings.begin(open.object, true);
  for (size_t i = 2; i < n; ++i) {
    const auto& [number, object] = names[i - 2];
    entries[i].name = name(number, arena);
    entries[i].type = uint32_t(tree_.node(object).type) << 12;
    a.listings.add(object, 0);
  }
  open.changes = directory.changes;
  op.entries = {entries, n};
  op.result = n;
  open.returned = n;
  return true;
}

void Realiser::unlock(ObjectId object, uint64_t owner, HandleId handle) {
  ModelNode& n = tree_.node(object);
  if (!n.locks) return;
  std::erase_if(n.locks->held, [&](const ModelLock& held) {
    return (owner && held.owner == owner && !held.flock) || (handle && held.handle == handle);
  });
}

ModelLock Realiser::lock_of(const Symbol& s, const Actor& a, HandleId handle) const {
  ModelLock lock{.handle = handle, .flock = s.kind == OpKind::flock};
  const uint32_t mode = s.argument & kLockMode;
  lock.owner = lock.flock || s.argument & kLockOfInstance ? instance_owner(handle) : process_owner(a);
  lock.exclusive = lock.flock ? (mode & LOCK_EX) != 0 : mode == F_WRLCK;
  if (!lock.flock && s.size && s.size <= model_.ranges.size()) std::tie(lock.offset, lock.length) = model_.ranges[s.size - 1];
  return lock;
}

bool Realiser::locks_differ(const Symbol& s, Actor& a) {
  if (!asks_for_lock(s.kind) || unlocks(s) || (s.error && s.error != EAGAIN)) return false;
  const HandleId id = handle(s.handle, a, [&](const Open& open) { return serves(s, open); });
  return id && in_the_way(tree_.node(opens_.at(id).object), lock_of(s, a, id)) != (s.error == EAGAIN);
}

bool Realiser::lock(const Symbol& s, Actor& a, Op& op) {
  ModelNode& n = tree_.node(op.object);
  const ModelLock wanted = lock_of(s, a, op.handle);
  op.owner = wanted.owner;
  op.mode = s.argument & kLockMode;
  op.offset = wanted.offset;
  op.length = wanted.length;
  if (s.argument & kLockWaits) op.op_flags |= kOpWait;
  if (!unlocks(s) && in_the_way(n, wanted) != (s.error == EAGAIN)) return false;
  if (s.kind == OpKind::getlk || (s.error && s.kind == OpKind::setlk)) return true;
  if (!n.locks) n.locks = std::make_unique<ModelLocks>();
  std::vector<ModelLock>& held = n.locks->held;
  n.locks->replaced = std::any_of(held.begin(), held.end(),
                                  [&](const ModelLock& own) { return own.owner == wanted.owner && overlap(own, wanted); });
  cut(held, wanted);  // also where a flock is refused, which gives up the one before
  if (!unlocks(s) && !s.error) held.push_back(wanted);
  return true;
}

// Makes up an instance that was open before the run, for a symbol whose file no operation opens. The trace began after the open,
// or the open was too rare for a model to keep it.
void Realiser::open_before(const Symbol& s, Actor& a) {
  const bool directory = s.type == kDirectoryType, own = s.handle < 9;
  const uint8_t type = directory ? kDirectoryType : kRegularType;
  if (s.kind == OpKind::release || s.kind == OpKind::releasedir || (s.type && s.type != type)) return;
  if (!(own ? a.own_open_before : a.all_open_before)[directory]) return;
  const auto alike = [&](HandleId id) {
    auto open = opens_.find(id);
    return open != opens_.end() && open->second.directory == directory;
  };
  if (own ? std::count_if(a.handles.begin(), a.handles.end(), alike) >= s.handle
          : std::any_of(all_opens_.begin(), all_opens_.end(), alike))
    return;
  const ObjectId object = pick({Relation::fresh, 0}, type, a, [&](ObjectId id) { return !tree_.node(id).made; });
  if (object == kNoObject) return;
  Op op;
  opened(a, op, object, directory ? O_RDONLY | O_DIRECTORY : O_RDWR, directory);
  world_.open_before.push_back({op.handle, object, op.open_flags, a.thread});
  if (!own) let_go(a, op.handle);
}

bool Realiser::serves(const Symbol& s, const Open& open) const {
  const bool writes = s.kind == OpKind::write || s.kind == OpKind::fallocate ||
                      (s.kind == OpKind::setattr && s.argument & kAttrSize) ||
                      (s.kind == OpKind::setlk && (s.argument & kLockMode) == F_WRLCK);
  const bool reads = s.kind == OpKind::read || s.kind == OpKind::copy_file_range ||
                     (s.kind == OpKind::setlk && (s.argument & kLockMode) == F_RDLCK);
  const bool hot = s.object.relation == Relation::hot;
  return (!hot || tree_.node(open.object).was_hot == s.object.bucket + 1) &&
         (!s.type || open.directory == (s.type == kDirectoryType)) && (!writes || writable(open.flags)) &&
         (!reads || readable(open.flags));
}

bool Realiser::shares(Actor& a, const Open& open) const { return open.holders.size() > 1 && open.holders.contains(&a); }

int64_t Realiser::ready_at(const Symbol& s, Actor& a) {
  const bool closes = s.kind == OpKind::release || s.kind == OpKind::releasedir;
  if (!closes && (!asks_for_lock(s.kind) || unlocks(s))) return 0;
  const HandleId id = handle(s.handle, a, [&](const Open& open) { return serves(s, open); });
  if (!id) return 0;
  const Open& open = opens_.at(id);
  if (closes) return open.busy;
  const ModelNode& n = tree_.node(open.object);
  if (!n.locks) return 0;
  return s.error == EAGAIN ? n.locks->taken : n.locks->freed;
}

bool Realiser::leave(const Symbol& s, Actor& a) {
  if (s.kind != OpKind::release && s.kind != OpKind::releasedir) return false;
  const HandleId id = handle(s.handle, a, [&](const Open& open) { return serves(s, open); });
  if (!id || !shares(a, opens_.at(id))) return false;
  let_go(a, id);
  return true;
}

bool Realiser::locks_bytes(const Actor& a, const Open& open) const {
  const ModelNode& n = tree_.node(open.object);
  return n.locks && std::any_of(n.locks->held.begin(), n.locks->held.end(),
                                [&](const ModelLock& held) { return held.owner == process_owner(a) && !held.flock; });
}

size_t Realiser::to_close(const Actor& a) const {
  return size_t(std::count_if(a.handles.begin(), a.handles.end(), [&](HandleId id) {
    const Open& open = opens_.at(id);
    return open.holders.size() == 1 || locks_bytes(a, open);
  }));
}

int64_t Realiser::closes_at(Actor& a) {
  while (!a.handles.empty()) {
    const Open& last = opens_.at(a.handles.back());
    if (last.holders.size() == 1 || locks_bytes(a, last)) return last.busy;
    let_go(a, a.handles.back());
  }
  return 0;
}

bool Realiser::close_one(Actor& a, Op& op) {
  if (a.handles.empty()) return false;
  op.handle = a.handles.back();
  const Open& open = opens_.at(op.handle);
  op.object = open.object;
  if (open.holders.size() > 1) {  // locks of byte ranges end with their process, though others go on with the file
    op.kind = OpKind::flush;
    op.owner = process_owner(a);
    unlock(op.object, op.owner, 0);
    let_go(a, op.handle);
    return true;
  }
  op.kind = open.directory ? OpKind::releasedir : OpKind::release;
  closed(op.handle);
  return true;
}

bool Realiser::on_handle(const Symbol& s, Actor& a, Op& op, Arena& arena) {
  if (s.error && !refusal_holds(s)) return false;
  const bool hot = s.object.relation == Relation::hot;
  if (hot && s.object.bucket >= hot_.size()) return false;
  if (!hot) open_before(s, a);
  op.handle = handle(s.handle, a, [&](const Open& open) { return serves(s, open); });
  if (!op.handle) return false;
  Open& open = opens_[op.handle];
  op.object = open.object;
  ModelNode& n = tree_.node(op.object);
  switch (s.kind) {
    case OpKind::read:
    case OpKind::write:
      if (open.directory || !transfer(s, op, open.position)) return false;
      break;
    case OpKind::readdir:
    case OpKind::readdirplus:
      if (!open.directory || !list(s, a, op, open, arena)) return false;
      break;
    case OpKind::getattr:
    case OpKind::statx:
      op.attr = attributes(op.object, arena);
      break;
    case OpKind::setattr:
      if (!set_attributes(s, op, arena)) return false;
      break;
    case OpKind::fsync:
    case OpKind::fsyncdir:
    case OpKind::ioctl:
      op.flags = s.argument;
      break;
    case OpKind::flush:
      op.owner = process_owner(a);
      unlock(op.object, op.owner, 0);
      break;
    case OpKind::release:
    case OpKind::releasedir:
      if (open.directory != (s.kind == OpKind::releasedir)) return false;
      if (form_of(model_) == ModelForm::contexts && shares(a, open)) return false;
      touch(a, op.object);
      closed(op.handle);
      return true;
    case OpKind::lseek:
      n.open_end = false;
      op.mode = s.argument;
      op.offset = s.error ? n.size : 0;
      if (!s.error && n.size == 0) return false;
      op.result = (s.argument == SEEK_HOLE) ? n.size : 0;
      break;
    case OpKind::fallocate:
      if (s.argument & ~uint32_t(FALLOC_FL_KEEP_SIZE)) return false;
      op.mode = s.argument;
      n.open_end = false;
      op.length = std::max<uint64_t>(1, size_for(s));
      if (!(s.argument & FALLOC_FL_KEEP_SIZE)) n.size = std::max(n.size, op.length);
      break;
    case OpKind::copy_file_range: {
      const HandleId source = op.handle;
      // A program may write to what another process has opened for it.
      for (const uint8_t own : {1, 9})
        if (!op.handle2)
          op.handle2 =
              handle(own, a, [&](const Open& to) { return !to.directory && to.object != open.object && writable(to.flags); });
      if (!op.handle2) return false;
      Open& to = opens_[op.handle2];
      op.handle = source;
      op.object2 = to.object;
      op.offset = open.position;
      const uint64_t left = n.size - std::min(n.size, op.offset);
      op.length = s.extent == Extent::same ? left : std::max<uint64_t>(1, size_for(s));
      op.offset2 = to.position;
      n.open_end = false;
      op.result = std::min(op.length, left);
      if ((op.result == 0) != (s.extent == Extent::empty)) return false;
      open.position += op.result;
      to.position += op.result;
      ModelNode& target = tree_.node(to.object);
      if (op.result) target.size = std::max(target.size, to.position);
      break;
    }
    case OpKind::getxattr:
    case OpKind::setxattr:
    case OpKind::removexattr:
      if (!xattr(s, op, arena)) return false;
      break;
    default:
      if (!asks_for_lock(s.kind) || !lock(s, a, op)) return false;
  }
  if (!s.error) touch(a, op.object);
  if (auto used = std::find(a.handles.begin(), a.handles.end(), op.handle); used != a.handles.end())
    std::rotate(used, used + 1, a.handles.end());
  return true;
}

}  // namespace fsr
