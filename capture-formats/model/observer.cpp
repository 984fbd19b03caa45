// SPDX-License-Identifier: Apache-2.0
#include "model/observer.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace fsr {

namespace {

constexpr size_t kMostPlaces = 65536;  // of a file whose transfers of one class of size are known
constexpr size_t kMostRanges = 200;    // of locks; others count as the whole file

bool makes_name(OpKind kind) {
  return kind == OpKind::create || kind == OpKind::mkdir || kind == OpKind::mknod || kind == OpKind::symlink ||
         kind == OpKind::link;
}

uint8_t type_of(OpKind kind, uint32_t mode) {
  switch (kind) {
    case OpKind::create:
    case OpKind::tmpfile:
    case OpKind::read:
    case OpKind::write:
    case OpKind::open:
      return S_IFREG >> 12;
    case OpKind::mkdir:
    case OpKind::rmdir:
    case OpKind::opendir:
    case OpKind::readdir:
    case OpKind::readdirplus:
    case OpKind::releasedir:
    case OpKind::fsyncdir:
      return S_IFDIR >> 12;
    case OpKind::symlink:
    case OpKind::readlink:
      return S_IFLNK >> 12;
    case OpKind::mknod:
      return uint8_t((mode & S_IFMT) >> 12);
    default:
      return 0;
  }
}

}  // namespace

void Observer::end_trace() {
  recency_ = {};
  keys_ = {};
  threads_.clear();
  main_threads_.clear();
  files_.clear();
  listed_.clear();
  opens_.clear();
  positions_.clear();
}

uint8_t Observer::use_handle(Thread& thread, ThreadId id, HandleId handle, ObjectId object) {
  if (auto [open, first] = opens_.try_emplace(handle, Open{object, id, 0}); first) return 9;  // open before the trace began
  size_t back = 0;
  for (size_t i = thread.handles.size(); i-- > 0;) {
    const HandleId held = thread.handles[i];
    if (opens_.contains(held) && ++back && held != handle) continue;
    thread.handles.erase(thread.handles.begin() + ptrdiff_t(i));  // another thread has closed it, or it becomes the last one
    if (held != handle) continue;
    thread.handles.push_back(handle);
    return uint8_t(std::min<size_t>(back, 8));
  }
  return 9;
}

// A process begins with what the one that started it has touched, as it gets its arguments from there. It inherits what that one
// has open.
Observer::Thread& Observer::thread_of(const Op& op) {
  auto [thread, first] = threads_.try_emplace(op.thread);
  if (!first || !op.who || !op.who->pid) return thread->second;
  const bool main = op.who->tid == op.who->pid;
  if (auto parent = main_threads_.find({op.who->client, main ? op.who->ppid : op.who->pid}); parent != main_threads_.end()) {
    const Thread& from = threads_.at(parent->second);
    thread->second.near = from.near;
    thread->second.handles.assign(from.handles.end() - ptrdiff_t(std::min(from.handles.size(), kMostInherited)),
                                  from.handles.end());
  }
  if (main) main_threads_[{op.who->client, op.who->pid}] = op.thread;
  return thread->second;
}

// `by_name`: the operation names the object, so that a hot name counts more than what the thread did before.
Reference Observer::classify(const Thread& thread, ObjectId object, bool by_name) const {
  if (const Reference r = recency_.classify(thread.near, object); !by_name && r == Reference{Relation::recent, 0}) return r;
  if (object == kRootObject) return {Relation::root, 0};
  const int number = hot_.number(keys_.of(object));
  return number < 0 ? recency_.classify(thread.near, object) : Reference{Relation::hot, uint16_t(number)};
}

Reference Observer::parent_of(const Op& op, const Thread& thread, ObjectId parent, std::string_view name) const {
  if (const int number = hot_.number(keys_.of(parent, name)); number >= 0) return {Relation::name, uint16_t(number)};
  if (op.kind != OpKind::lookup && parent == thread.absent_in && name == thread.absent) return {Relation::again, 0};
  return classify(thread, parent, false);
}

// The name by which an operation finds its object, or has found it.
PathKeys::Name Observer::name_of(const Op& op) const {
  return op.parent && !op.name.empty() ? PathKeys::name_of(op.parent, op.name) : keys_.name_of(op.object);
}

void Observer::list(const Op& op, Thread& thread, Observed& seen) {
  seen.symbol.extent = op.result ? Extent::complete : Extent::empty;
  if (op.error || !op.result) return;
  Open& open = opens_[op.handle];
  thread.listings.begin(op.object, !std::exchange(open.listed, true));
  uint64_t entries = 0;
  for (const DirEntry& e : op.entries) {
    if (e.name == "." || e.name == "..") continue;
    thread.listings.add(PathKeys::name_of(op.object, e.name).hash, uint8_t((e.type & S_IFMT) >> 12));
    ++entries;
  }
  if (listed_.insert(op.object).second) seen.size = entries;
}

uint8_t Observer::range(const Op& op) {
  const auto key = std::pair(op.offset, op.length);
  if (auto known = range_numbers_.find(key); known != range_numbers_.end()) return known->second;
  if (ranges_.size() == kMostRanges) return 0;
  ranges_.push_back(key);
  return range_numbers_[key] = uint8_t(ranges_.size());
}

void Observer::transfer(const Op& op, Observed& seen) {
  Symbol& s = seen.symbol;
  uint64_t& position = op.handle ? opens_[op.handle].position : positions_[op.object];
  const std::optional<uint64_t> end = files_[op.object].size;
  s.place = op.has(kOpAppend)       ? Place::append
            : op.offset == position ? Place::onward
            : op.offset == 0        ? Place::begin
            : end == op.offset      ? Place::end
                                    : Place::elsewhere;
  s.size = digits(op.length);
  auto [began, first] = files_[op.object].began.try_emplace(s.size, op.offset);
  // Places beyond the first ones of a file count as new, which bounds the memory.
  std::unordered_set<uint64_t>& places = files_[op.object].all_began[s.size];
  const bool news = places.size() < kMostPlaces ? places.insert(op.offset).second : !places.contains(op.offset);
  if (s.place == Place::elsewhere && !first && began->second == op.offset)
    s.place = Place::repeat;
  else if (s.place == Place::elsewhere && !news)
    s.place = Place::again;
  began->second = op.offset;
  seen.size = op.length;
  if (op.error) return;
  s.extent = op.result == 0 ? Extent::empty : op.result < op.length ? Extent::partial : Extent::complete;
  const bool in_order = op.offset == 0 || s.place == Place::onward;
  if (op.kind == OpKind::read && in_order && s.extent == Extent::complete && end == op.offset + op.length) {
    s.extent = Extent::same;
    if (op.offset == 0) s.place = Place::begin;
    s.size = 0;
    seen.size.reset();
  }
  if (op.kind == OpKind::write && s.extent == Extent::complete && end && op.offset > *end) {
    s.extent = Extent::made;
    seen.gap = op.offset - *end;
  }
  position = op.offset + op.result;
}

void Observer::attributes(const Op& op, Symbol& s, std::optional<uint64_t>& size) {
  if (!op.set) return;
  s.argument = op.set->valid & ~uint32_t(kAttrUid | kAttrGid);
  if (!(op.set->valid & kAttrSize)) return;
  const std::optional<uint64_t> before = files_[op.object].size;
  s.extent = op.set->size == 0                   ? Extent::empty
             : before && op.set->size == *before ? Extent::same
             : before && op.set->size < *before  ? Extent::smaller
                                                 : Extent::made;
  s.size = digits(op.set->size);
  size = op.set->size;
}

void Observer::use_object(const Op& op, Thread& thread, Symbol& s) {
  // A missing name has its directory, and so has a name that appears.
  if (op.parent && (op.error == ENOENT || (!op.error && makes_name(op.kind) && op.kind != OpKind::link)))
    s.parent = parent_of(op, thread, op.parent, op.name);
  if (op.kind == OpKind::create && !op.error && !op.has(kOpCreated)) s.parent = {};
  const bool refused = op.error && op.error != ENOENT;
  if (op.parent && (refused || (!op.error && !op.object))) s.parent = parent_of(op, thread, op.parent, op.name);
  if (op.object && (!op.handle || opens_object(op.kind)) && op.kind != OpKind::tmpfile &&
      (op.kind == OpKind::link || !makes_name(op.kind) || s.parent.relation == Relation::none)) {
    const PathKeys::Name name = name_of(op);
    const bool named = op.parent && !op.name.empty();
    const int hot = named ? hot_.number(keys_.of(op.parent, op.name)) : -1;  // which a file that is met first has, too
    s.object = hot >= 0 ? Reference{Relation::hot, uint16_t(hot)} : classify(thread, op.object, named);
    if (s.object.relation != Relation::hot && s.object.relation != Relation::root)
      if (const Reference entry = thread.listings.classify(name.parent, name.hash); entry.relation != Relation::none)
        s.object = entry;
    if (op.kind == OpKind::lookup && s.object.relation == Relation::fresh) s.parent = classify(thread, op.parent, false);
  }
  if (op.kind == OpKind::tmpfile) s.parent = classify(thread, op.parent, false);
  if ((op.kind == OpKind::rename || op.kind == OpKind::link) && !op.error) {
    s.parent = parent_of(op, thread, op.parent2, op.name2);
    if (op.object2) s.second = classify(thread, op.object2, true);
  }
}

std::optional<Observed> Observer::add(const Op& op) {
  if (op.has(kOpUnfinished) || op.kind == OpKind::null) return std::nullopt;
  Thread& thread = thread_of(op);
  Observed seen;
  Symbol& s = seen.symbol;
  s.kind = op.kind;
  s.error = uint16_t(op.error);
  s.type = type_of(op.kind, op.mode);
  if (op.attr && op.attr->valid & kAttrMode) s.type = uint8_t((op.attr->mode & S_IFMT) >> 12);
  if (auto file = files_.find(op.object); !s.type && file != files_.end()) s.type = file->second.type;
  use_object(op, thread, s);
  if (op.handle && !opens_object(op.kind)) s.handle = use_handle(thread, op.thread, op.handle, op.object);
  if (finds_file(op.kind) && !op.error && s.type == S_IFREG >> 12) {
    std::optional<uint64_t> size;
    if (op.attr && op.attr->valid & kAttrSize)
      size = op.attr->size;
    else if (auto file = files_.find(op.object); file != files_.end())
      size = file->second.size;
    const bool listed = s.object.relation == Relation::entry;
    const bool fresh = listed ? !files_.contains(op.object) : s.object.relation == Relation::fresh;
    if (listed && fresh && size && hot_.number(keys_.of(op.parent, op.name)) < 0) {
      const int in = hot_.number(keys_.of(op.parent));
      seen.size = size;
      seen.size_class = in < 0 || in >= int(kListedNames) ? kInDirectory : uint8_t(kInHotDirectory + in);
    }
    // The size of the object in hand, and that of a file with an often used name, are known without it.
    if (size && (s.object.relation == Relation::fresh || s.object.relation == Relation::next ||
                 s.object.relation == Relation::known || (s.object.relation == Relation::recent && s.object.bucket > 0))) {
      s.size = file_class(*size);
      if (fresh) seen.size = size;
    }
  }
  switch (op.kind) {
    case OpKind::open:
    case OpKind::opendir:
    case OpKind::tmpfile:
      s.argument = op.open_flags;
      break;
    case OpKind::create:
      s.argument = op.open_flags;
      s.extent = op.has(kOpCreated) ? Extent::made : Extent::same;
      break;
    case OpKind::read:
    case OpKind::write:
      transfer(op, seen);
      break;
    case OpKind::setattr:
      attributes(op, s, seen.size);
      break;
    case OpKind::readdir:
    case OpKind::readdirplus:
      list(op, thread, seen);
      break;
    case OpKind::access:
    case OpKind::lseek:
    case OpKind::mknod:
      s.argument = op.mode;
      break;
    case OpKind::fallocate:
      s.argument = op.mode;
      s.size = digits(op.length);
      seen.size = op.length;
      break;
    case OpKind::copy_file_range:
      s.extent = op.result == 0 ? Extent::empty : op.result < op.length ? Extent::partial : Extent::complete;
      if (s.extent == Extent::complete && files_[op.object].size == op.offset + op.result) {
        s.extent = Extent::same;
        break;
      }
      s.size = digits(op.length);
      seen.size = op.length;
      break;
    case OpKind::getxattr:
    case OpKind::setxattr:
    case OpKind::removexattr:
      s.argument = xattr_number(op.name);
      break;
    case OpKind::getlk:
    case OpKind::setlk:
      s.size = range(op);
      if (!owners_.is_process(op.owner)) s.argument = kLockOfInstance;
      [[fallthrough]];
    case OpKind::flock:
      s.argument |= (op.mode & kLockMode) | (op.has(kOpWait) ? kLockWaits : 0);
      break;
    case OpKind::fsync:
    case OpKind::fsyncdir:
    case OpKind::rename:
    case OpKind::statfs:
    case OpKind::ioctl:
      s.argument = op.flags;
      break;
    default:
      break;
  }
  settle(op, thread, seen);
  return seen;
}

void Observer::settle(const Op& op, Thread& thread, Observed& seen) {
  if (op.kind == OpKind::lookup && op.error == ENOENT) {
    thread.absent_in = op.parent;
    thread.absent = op.name;
  }
  // A file that existed: its first size.
  if (!op.error && op.object && op.kind != OpKind::create && op.kind != OpKind::tmpfile && op.kind != OpKind::mknod && op.attr &&
      (op.attr->mode & S_IFMT) == S_IFREG && op.attr->valid & kAttrSize && op.kind != OpKind::setattr &&
      !files_.contains(op.object))
    seen.existed = op.attr->size;
  if (const PathKeys::Name name = name_of(op); name.parent) thread.listings.use(name.parent, name.hash);
  keys_.apply(op);
  if (!op.error && op.kind == OpKind::mkdir) listed_.insert(op.object);
  if (op.parent && (!op.object || op.error)) recency_.touch(thread.near, op.parent);
  if (!op.error && op.parent && makes_name(op.kind)) recency_.touch(thread.near, op.parent);
  if (op.object && !op.error) recency_.touch(thread.near, op.object);
  if (op.error) return;
  File& file = files_[op.object];
  if (op.attr && op.attr->valid & kAttrMode) file.type = uint8_t((op.attr->mode & S_IFMT) >> 12);
  if (op.attr && op.attr->valid & kAttrSize) file.size = op.attr->size;
  switch (op.kind) {
    case OpKind::open:
    case OpKind::opendir:
    case OpKind::create:
    case OpKind::tmpfile:
      if (!op.handle) break;
      opens_[op.handle] = {op.object, op.thread, 0};
      thread.handles.push_back(op.handle);
      break;
    case OpKind::release:
    case OpKind::releasedir:
      opens_.erase(op.handle);
      std::erase(thread.handles, op.handle);
      break;
    case OpKind::write:
      if (file.size) file.size = std::max(*file.size, op.offset + op.result);
      break;
    default:
      break;
  }
}

}  // namespace fsr
