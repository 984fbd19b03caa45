// SPDX-License-Identifier: Apache-2.0
#include "witness_ops.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <xxhash.h>
#include <cerrno>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

namespace fsr::shim {

namespace {

// Bits of the kernel's struct iattr::ia_valid.
enum Valid : uint32_t {
  kMode = 1,
  kUid = 2,
  kGid = 4,
  kSize = 8,
  kAtime = 16,
  kMtime = 32,
  kAtimeSet = 128,
  kMtimeSet = 256,
};

constexpr uint64_t kListingBytes = 32768;  // what the C library gives getdents64(2); the hook does not see it

std::string_view name_of(const witness_record& r) {
  return r.layout == kWitnessBare ? std::string_view() : std::string_view(witness_text(r), r.name_length);
}

std::string_view text_of(const witness_record& r) {
  return r.layout < kWitnessNames ? std::string_view() : std::string_view(witness_text(r) + kWitnessName, r.text_length);
}

std::string_view value_of(const witness_record& r) {
  return r.layout == kWitnessValue ? std::string_view(witness_text(r) + 2 * kWitnessName, r.mode) : std::string_view();
}

// A list as system calls have it, of one whose ids mean something only in entries that name a user or group.
std::string acl_of_kernel(std::string_view value) {
  constexpr size_t kFirst = 4, kEntry = 8;         // bytes: the version; tag, permissions and id
  constexpr uint16_t kUserTag = 2, kGroupTag = 8;  // of <linux/posix_acl_xattr.h>
  std::string list(value);
  for (size_t at = kFirst; at + kEntry <= list.size(); at += kEntry) {
    uint16_t tag;
    memcpy(&tag, &list[at], sizeof tag);
    if (tag != kUserTag && tag != kGroupTag) memset(&list[at + 4], 0xff, 4);
  }
  return list;
}

uint64_t device(uint32_t kernels) { return makedev(kernels >> 20, kernels & 0xfffff); }

Attr attributes(const witness_inode& inode) {
  return {.valid = kAttrMode | kAttrUid | kAttrGid | kAttrSize | kAttrNlink | kAttrBlocks | kAttrRdev,
          .mode = inode.mode,
          .uid = inode.uid,
          .gid = inode.gid,
          .size = inode.size,
          .nlink = inode.links,
          .blocks = inode.blocks,
          .rdev = device(inode.device)};
}

Attr wanted(const witness_record& r) {
  Attr set;
  auto sets = [&](uint32_t bit) { return (r.flags & bit) != 0; };
  if (sets(kMode)) set.valid |= kAttrMode, set.mode = r.mode & 07777;
  if (sets(kUid)) set.valid |= kAttrUid, set.uid = uint32_t(r.owner >> 32);
  if (sets(kGid)) set.valid |= kAttrGid, set.gid = uint32_t(r.owner);
  if (sets(kSize)) set.valid |= kAttrSize, set.size = r.offset;
  if (sets(kSize)) return set;  // the times that a truncation sets follow from it
  if (sets(kAtime)) set.valid |= sets(kAtimeSet) ? kAttrAtime : kAttrAtimeNow;
  if (sets(kMtime)) set.valid |= sets(kMtimeSet) ? kAttrMtime : kAttrMtimeNow;
  if (sets(kAtimeSet)) set.atime = int64_t(r.offset2);
  if (sets(kMtimeSet)) set.mtime = int64_t(r.length);
  return set;
}

// The index is an enum witness_kind. Each entry has the kind of operation on a file, and that on a directory.
constexpr OpKind kKinds[kWitnessKinds][2] = {
    {OpKind::null, OpKind::null},           {OpKind::lookup, OpKind::lookup},
    {OpKind::getattr, OpKind::getattr},     {OpKind::setattr, OpKind::setattr},
    {OpKind::access, OpKind::access},       {OpKind::readlink, OpKind::readlink},
    {OpKind::open, OpKind::opendir},        {OpKind::create, OpKind::create},
    {OpKind::tmpfile, OpKind::tmpfile},     {OpKind::read, OpKind::read},
    {OpKind::write, OpKind::write},         {OpKind::copy_file_range, OpKind::copy_file_range},
    {OpKind::fallocate, OpKind::fallocate}, {OpKind::lseek, OpKind::lseek},
    {OpKind::fsync, OpKind::fsyncdir},      {OpKind::flush, OpKind::flush},
    {OpKind::release, OpKind::releasedir},  {OpKind::readdir, OpKind::readdir},
    {OpKind::mkdir, OpKind::mkdir},         {OpKind::mknod, OpKind::mknod},
    {OpKind::symlink, OpKind::symlink},     {OpKind::link, OpKind::link},
    {OpKind::unlink, OpKind::unlink},       {OpKind::rmdir, OpKind::rmdir},
    {OpKind::rename, OpKind::rename},       {OpKind::statfs, OpKind::statfs},
    {OpKind::getxattr, OpKind::getxattr},   {OpKind::setxattr, OpKind::setxattr},
    {OpKind::listxattr, OpKind::listxattr}, {OpKind::removexattr, OpKind::removexattr},
    {OpKind::setlk, OpKind::setlk},         {OpKind::getlk, OpKind::getlk},
    {OpKind::flock, OpKind::flock},         {OpKind::null, OpKind::null},
};
static_assert(kKinds[kWitnessFlock][0] == OpKind::flock);

OpKind kind_of(const witness_record& r) {
  const bool directory = (r.object.mode & S_IFMT) == S_IFDIR || (r.marks & kWitnessOfDirectory);
  return kKinds[r.kind][directory];
}

// As memcmp(), which would be a call for each operation.
bool same_command(const char (&a)[16], const char (&b)[16]) {
  uint64_t first[2], second[2];
  memcpy(first, a, sizeof a);
  memcpy(second, b, sizeof b);
  return first[0] == second[0] && first[1] == second[1];
}

bool opens(const witness_record& r) {
  return r.file != 0 && (r.kind == kWitnessOpen || r.kind == kWitnessCreate || r.kind == kWitnessTmpfile);
}

}  // namespace

WitnessOps::WitnessOps(witness_place root, int64_t epoch) : root_(key(root)), epoch_(epoch) { node(root_).shown = true; }

bool WitnessOps::arrived(const witness_record& r, Handles* handles) {
  *handles = {};
  if (r.kind == kWitnessPlace) {
    learn_place(r);
    return false;
  }
  // An operation that began before may be in the directory. Without generations, the number may be that of a directory before it.
  if (r.kind == kWitnessMkdir && r.result == 0 && r.object.number && r.object.generation) learn_place(r);
  if (opens(r)) {
    handles->first = ++last_handle_;
    last_open_ = {r.file, handles->first};
    if (Open* const lost = find_open(r.file))
      handles->second = std::exchange(lost->handle, handles->first);
    else
      open_.add(r.file) = last_open_;
    return true;
  }
  if (!r.file) return true;
  handles->first = open_at(r.file);
  if (r.kind == kWitnessRelease) {
    if (Open* const closed = find_open(r.file)) open_.erase(r.file, *closed);
    last_open_ = {};
  }
  if (r.file2) handles->second = open_at(r.file2);
  return true;
}

void WitnessOps::learn_place(const witness_record& r) {
  places_[key(r.object)] = {key(r.parent), std::string(name_of(r)), r.object, r.start};
}

HandleId WitnessOps::open_at(uint64_t file) {
  if (file == last_open_.file) return last_open_.handle;
  const Open* const found = find_open(file);
  if (!found) return 0;
  last_open_ = *found;
  return found->handle;
}

WitnessOps::Open* WitnessOps::find_open(uint64_t file) {
  return open_.find(file, [&](const Open& o) { return o.file == file; });
}

WitnessOps::Instance* WitnessOps::instance(HandleId handle) {
  if (last_instance_ && last_instance_->handle == handle) return last_instance_;
  Instance* const found = instances_.find(handle, [&](const Instance& i) { return i.handle == handle; });
  if (found) last_instance_ = found;
  return found;
}

WitnessOps::Node* WitnessOps::find(Key k) {
  return nodes_.find(KeyHash()(k), [&](const Node& n) { return n.key == k; });
}

WitnessOps::Node& WitnessOps::node(Key k) {
  if (Node* const found = find(k)) return *found;
  Node& n = nodes_.add(KeyHash()(k));
  n.key = k;
  n.id = k == root_ ? kRootObject : ++last_object_;
  return n;
}

uint64_t WitnessOps::mark(ObjectId parent, std::string_view name) {
  return XXH3_64bits_withSeed(name.data(), name.size(), parent) | 1;
}

bool WitnessOps::Node::learn(uint64_t mark) {
  if (name == mark || (more_names && more_names->contains(mark))) return false;
  if (!name) {
    name = mark;
  } else {
    if (!more_names) more_names = std::make_unique<std::unordered_set<uint64_t>>();
    more_names->insert(mark);
  }
  return true;
}

void WitnessOps::Node::lose(uint64_t mark) {
  if (name == mark)
    name = 0;
  else if (more_names)
    more_names->erase(mark);
}

ObjectId WitnessOps::show_directory(Key directory, const Op& like, OpSink& sink) {
  if (!directory.number) return kNoObject;
  if (directory == last_directory_) return last_directory_id_;
  const Node& n = node(directory);
  if (n.shown) {
    last_directory_ = directory;
    return last_directory_id_ = n.id;
  }
  const auto at = places_.find(directory);
  if (at == places_.end()) return n.id;  // its record was lost
  const Place place = std::move(at->second);
  places_.erase(at);
  show(directory, place.parent, place.name, place.inode, like, sink);
  return n.id;
}

// A second name of a file with one link is its name at another time: a rename overlapped this operation.
std::pair<ObjectId, ObjectId> WitnessOps::show(Key object, Key parent, std::string_view name, const witness_inode& inode,
                                               const Op& like, OpSink& sink) {
  const ObjectId directory = show_directory(parent, like, sink);
  if (!object.number) return {kNoObject, directory};
  Node& n = node(object);
  if (!directory || name.empty() || object == root_) return {n.id, directory};
  if (n.shown && (inode.links <= 1 || S_ISDIR(inode.mode))) return {n.id, directory};
  if (!n.learn(mark(directory, name))) return {n.id, directory};
  n.shown = true;
  const Attr attr = attributes(inode);
  Op op{.start = like.start, .kind = OpKind::lookup, .op_flags = kOpInferred, .thread = like.thread, .object = n.id};
  op.uid = like.uid;
  op.gid = like.gid;
  op.who = like.who;
  op.parent = directory;
  op.name = name;
  op.attr = &attr;
  sink.add(op);
  return {n.id, directory};
}

WitnessOps::Node* WitnessOps::bind(Key object, ObjectId parent, std::string_view name) {
  if (!object.number) return nullptr;
  Node& n = node(object);
  n.shown = true;
  n.gone = false;
  n.learn(mark(parent, name));
  return &n;
}

void WitnessOps::unbind(Key object, ObjectId parent, std::string_view name) {
  if (Node* const n = find(object)) n->lose(mark(parent, name));
}

// A file system without generations may give the number to another file, of whose place the kernel may have told already.
void WitnessOps::forget(Key object, uint64_t removed) {
  if (const auto place = places_.find(object); place != places_.end() && place->second.told < removed) places_.erase(place);
  Node* const n = find(object);
  if (!n) return;
  n->gone = true;
  if (n->opens == 0) erase(*n);
}

void WitnessOps::erase(Node& node) {
  if (node.key == last_directory_) last_directory_ = {};
  nodes_.erase(KeyHash()(node.key), node);
}

void WitnessOps::close(HandleId handle) {
  Instance* const closed = instance(handle);
  if (!closed) return;
  Node& n = *closed->node;
  instances_.erase(handle, *closed);
  last_instance_ = nullptr;
  if (--n.opens == 0 && n.gone) erase(n);
}

const ThreadInfo& WitnessOps::thread_of(const witness_record& r) {
  Thread& thread = threads_[r.tid];
  last_seen_ = &thread;
  thread.seen = {int64_t(r.end)};
  const bool same = thread.is(r);
  if (same && same_command(thread.comm, r.comm)) return thread.info;
  constexpr uint64_t kTick = 10'000'000;  // ns, of USER_HZ
  memcpy(thread.comm, r.comm, sizeof r.comm);
  thread.start = r.task_start;
  thread.info = {.id = same ? thread.info.id : ++last_thread_,
                 .tid = int32_t(r.tid),
                 .pid = int32_t(r.pid),
                 .ppid = int32_t(r.parent_pid),
                 .start_ticks = r.task_start / kTick,
                 .command = {thread.comm, strnlen(thread.comm, sizeof thread.comm)},
                 .edition = ++last_edition_};
  return thread.info;
}

// Names, and the files that they stand for after the operation.
void WitnessOps::fill_names(const witness_record& r, Op& op, OpSink& sink) {
  const Key object = key(r.object), parent = key(r.parent), other = key(r.other);
  const std::string_view name = name_of(r), text = text_of(r);
  const bool done = op.error == 0;
  switch (op.kind) {
    case OpKind::lookup:
      op.parent = show_directory(parent, op, sink);
      op.name = name;
      return;
    case OpKind::mkdir:
    case OpKind::mknod:
    case OpKind::symlink:
      op.parent = show_directory(parent, op, sink);
      op.name = name;
      op.data = op.kind == OpKind::symlink ? text : std::string_view();
      op.mode = done && op.kind != OpKind::symlink ? (op.kind == OpKind::mkdir ? r.object.mode & 07777 : r.object.mode) : r.mode;
      if (op.kind == OpKind::mknod) op.flags = uint32_t(device(uint32_t(r.offset)));
      if (!done) return;
      if (Node* const made = bind(object, op.parent, name)) {
        if (op.kind == OpKind::mkdir && object.generation) places_.erase(object);
        op.object = made->id;
        if (op.kind == OpKind::symlink) made->target = text;
      }
      return;
    case OpKind::link:
      op.object = show(object, parent, name, r.object, op, sink).first;
      op.parent2 = show_directory(other, op, sink);
      op.name2 = text;
      if (done) bind(object, op.parent2, text);
      return;
    case OpKind::unlink:
    case OpKind::rmdir:
      std::tie(op.object, op.parent) = show(object, parent, name, r.object, op, sink);
      op.name = name;
      if (!done) return;
      unbind(object, op.parent, name);
      if (op.kind == OpKind::rmdir || r.object.links <= 1) forget(object, r.start);
      return;
    case OpKind::rename: {
      const Key replaced = key(r.replaced);
      std::tie(op.object, op.parent) = show(object, parent, name, r.object, op, sink);
      op.parent2 = show_directory(other, op, sink);
      if (replaced.number && !node(replaced).shown)
        show(replaced, other, text, {.number = replaced.number, .mode = r.object.mode}, op, sink);
      op.name = name;
      op.name2 = text;
      op.flags = r.flags;
      op.object2 = id(replaced);
      if (!done) return;
      unbind(object, op.parent, name);
      bind(object, op.parent2, text);
      unbind(replaced, op.parent2, text);
      if (replaced.number && !(op.flags & RENAME_EXCHANGE) && r.mode <= 1) forget(replaced, r.start);
      if (op.flags & RENAME_EXCHANGE) bind(replaced, op.parent, name);
      return;
    }
    default:
      op.object = show(object, parent, name, r.object, op, sink).first;
  }
}

void WitnessOps::fill_open(const witness_record& r, HandleId handle, Op& op, OpSink& sink) {
  const Key object = key(r.object), parent = key(r.parent);
  op.open_flags = r.flags;
  Node* n = nullptr;
  if (op.kind == OpKind::create || op.kind == OpKind::tmpfile) {
    op.parent = show_directory(parent, op, sink);
    if (op.kind == OpKind::create) op.name = name_of(r);
    op.mode = r.mode;
    if (op.error) return;
    op.op_flags |= op.kind == OpKind::create ? kOpCreated : 0;
    op.mode = r.object.mode;
    n = op.kind == OpKind::create ? bind(object, op.parent, op.name) : &node(object);
    if (op.kind == OpKind::tmpfile) n->shown = n->gone = true;
    if (!object.number) n = nullptr;
  } else {
    op.open_flags &= ~uint32_t(O_CREAT | O_EXCL | O_NOCTTY);
    show(object, parent, name_of(r), r.object, op, sink);
    n = object.number ? &node(object) : nullptr;
  }
  op.handle = handle;
  if (!n) return;
  op.object = n->id;
  if (!handle) return;
  instances_.add(handle) = {.handle = handle, .node = n, .id = op.object, .directory = op.kind == OpKind::opendir};
  ++n->opens;
}

void WitnessOps::add(const witness_record& r, Handles handles, int64_t start, OpSink& sink) {
  if (r.kind == kWitnessRemoved) return forget(key(r.object), r.start);
  // Flags of preadv2(2) and pwritev2(2) that the kernel refuses before it asks the file system.
  if ((r.kind == kWitnessRead || r.kind == kWitnessWrite) && r.result == -EOPNOTSUPP) return;
  Op op{.start = start - epoch_, .duration = std::max<int64_t>(int64_t(r.end) - start, 0), .kind = kind_of(r)};
  op.uid = r.uid;
  op.gid = r.gid;
  if (last_seen_ && last_seen_->is(r) && same_command(last_seen_->comm, r.comm)) {
    last_seen_->seen = {int64_t(r.end)};
    op.who = &last_seen_->info;
  } else {
    op.who = &thread_of(r);
  }
  op.thread = op.who->id;
  const bool unended = (r.marks & kWitnessUnended) != 0;
  if (r.result < 0) op.error = int32_t(-r.result);
  if (start > int64_t(r.start) || (r.marks & kWitnessInferred)) op.op_flags |= kOpInferred;
  auto tell_attributes = [&] {
    attr_ = attributes(r.object);
    op.attr = &attr_;
  };
  if (op.kind == OpKind::open || op.kind == OpKind::opendir || op.kind == OpKind::create || op.kind == OpKind::tmpfile) {
    close(handles.second);
    fill_open(r, handles.first, op, sink);
    if (!op.error && (op.kind == OpKind::create || op.kind == OpKind::tmpfile)) tell_attributes();
    return sink.add(op);
  }
  if (!r.file) fill_names(r, op, sink);
  Instance* const of = r.file ? instance(handles.first) : nullptr;
  if (r.file) {
    op.handle = handles.first;
    op.object = of ? of->id : id(key(r.object));
  }
  op.offset = r.offset;
  op.length = r.length;
  const uint64_t result = r.result > 0 ? uint64_t(r.result) : 0;
  switch (op.kind) {
    case OpKind::getattr:
      tell_attributes();
      op.offset = op.length = 0;
      break;
    case OpKind::setattr:
      set_ = wanted(r);
      op.set = &set_;
      if (!op.error) tell_attributes();
      op.offset = op.length = 0;
      break;
    case OpKind::access:
      op.mode = r.mode;
      break;
    case OpKind::readlink:
      op.data = text_of(r);
      if (op.data.empty()) op.data = node(key(r.object)).target;
      break;
    case OpKind::read:
    case OpKind::write:
      op.result = result;
      if (r.marks & kWitnessByKernel) op.op_flags |= kOpKernel;
      if (r.marks & kWitnessAppends) op.op_flags |= kOpAppend;
      break;
    case OpKind::copy_file_range:
      op.object2 = id(key(r.other));
      op.handle2 = handles.second;
      op.offset2 = r.offset2;
      op.flags = r.flags;
      op.result = result;
      break;
    case OpKind::fallocate:
      op.mode = r.mode;
      break;
    case OpKind::lseek:
      op.mode = r.mode;
      op.result = result;
      break;
    case OpKind::fsync:
    case OpKind::fsyncdir:
      op.flags = r.flags != 0;
      break;
    case OpKind::flush:
      op.owner = r.owner;
      break;
    case OpKind::release:
    case OpKind::releasedir:
      op.op_flags |= kOpKernel;
      break;
    case OpKind::readdir:
      op.op_flags |= kOpInferred;  // the entries are not seen
      op.length = kListingBytes;
      if (of) op.offset = std::exchange(of->cursor, r.offset);
      break;
    case OpKind::mkdir:
    case OpKind::symlink:
    case OpKind::mknod:
    case OpKind::link:
      op.offset = op.length = 0;
      if (!op.error) tell_attributes();
      break;
    case OpKind::getxattr:
    case OpKind::listxattr:
      op.result = result;
      [[fallthrough]];
    case OpKind::setxattr:
    case OpKind::removexattr:
      op.name = text_of(r);
      op.flags = r.flags;
      op.data = value_of(r);
      if (r.marks & kWitnessAcl) op.data = acl_ = acl_of_kernel(op.data);
      break;
    case OpKind::setlk:
    case OpKind::getlk:
      op.owner = r.owner;
      op.mode = r.mode;
      if (r.flags) op.op_flags |= kOpWait;
      break;
    case OpKind::flock:
      op.owner = r.owner;
      op.mode = r.mode == F_RDLCK ? LOCK_SH : r.mode == F_WRLCK ? LOCK_EX : LOCK_UN;
      if (r.flags) op.op_flags |= kOpWait;
      break;
    default:
      break;
  }
  if (unended)
    sink.add_start(op);
  else
    sink.add(op);
  if (op.kind == OpKind::release || op.kind == OpKind::releasedir) close(op.handle);
}

}  // namespace fsr::shim
