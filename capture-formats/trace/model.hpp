// SPDX-License-Identifier: Apache-2.0
// Translates an operation into column values: the expectation of each field, and what is stored if the value differs.
//
// code_op() is the codec of both directions. The encoder's Coder compares each field with its expectation; if they differ, it
// sets a bit in the row's mask and appends to the field's column. The decoder's Coder takes the expectation or, if the bit is
// set, the next value of the column. Both update the same Context, so they agree by construction. Everything in a Context starts
// empty in each block: a block needs no other block. Columns and expectations are specified in docs/trace-format.md; change one
// and change the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "../op.hpp"
#include "open_flags.hpp"

namespace fsr {

// Which fields of a row differ from what was expected. The order is part of the format.
enum RowBit : uint32_t {
  kRowOpFlags = 1u << 0,
  kRowError = 1u << 1,
  kRowThread = 1u << 2,
  kRowCredentials = 1u << 3,
  kRowMode = 1u << 4,
  kRowFlags = 1u << 5,
  kRowOpenFlags = 1u << 6,
  kRowObject = 1u << 7,
  kRowParent = 1u << 8,
  kRowParent2 = 1u << 9,
  kRowObject2 = 1u << 10,
  kRowHandle = 1u << 11,
  kRowHandle2 = 1u << 12,
  kRowOffset = 1u << 13,
  kRowOffset2 = 1u << 14,
  kRowLength = 1u << 15,
  kRowResult = 1u << 16,
  kRowOwner = 1u << 17,
  kRowName = 1u << 18,
  kRowName2 = 1u << 19,
  kRowData = 1u << 20,
  kRowEntries = 1u << 21,
  kRowSet = 1u << 22,
  kRowAttr = 1u << 23,
  kRowStart = 1u << 24,  // the outcome comes later, in an end record
  kRowEnd = 1u << 25,    // this is an end record: no operation of its own
  kRowBlocks = 1u << 26,
};

// Column numbers are part of the format: append only. The time columns come first and in an order that keeps what compresses
// apart from what does not.
enum Column : uint8_t {
  kColStartBits,
  kColDurationBits,
  kColStartClass,
  kColDurationClass,
  kColTimeEscape,
  kColShape,
  kColShapeDefinition,
  kColEndSeq,
  kColOpFlags,
  kColError,
  kColThread,
  kColThreadDefinition,
  kColThreadCommand,
  kColUid,
  kColGid,
  kColMode,
  kColFlags,
  kColOpenFlags,
  kColObject,
  kColObjectDefinition,
  kColParent,
  kColParent2,
  kColObject2,
  kColHandle,
  kColHandleDefinition,
  kColHandle2,
  kColOffset,
  kColOffset2,
  kColLength,
  kColResult,
  kColOwner,
  kColName,
  kColNameLength,
  kColNameBytes,
  kColDataLength,
  kColDataBytes,
  kColEntryCount,
  kColEntryName,
  kColEntryIno,
  kColEntryType,
  kColSetMask,
  kColSetValue,
  kColAttrMask,
  kColAttrMode,
  kColAttrOwner,
  kColAttrSize,
  kColAttrNlink,
  kColAttrBlocks,
  kColAttrRdev,
  kColAttrTime,
  kColBlockCount,
  kColBlockLevel,
  kColBlockHash,
  kColumns,
};

// Dictionary references: 0 = none, 1 = a new entry (in the definition column), 2 + k = the entry defined k entries ago.
constexpr uint32_t kNone = 0;     // local index of "no object", "no handle", ...
constexpr uint32_t kFresh = ~0u;  // expectation: a new entry with the next id never seen
constexpr uint32_t kRefNew = 1, kRefBack = 2;

constexpr uint32_t kAttrMaskValid = 1u << 13;  // in an attribute mask: which members are valid differs too
constexpr size_t kRecordHead = 28;             // bytes of a record before its column directory

struct ThreadContext {
  ThreadInfo who;
  bool has_who = false;
  uint32_t uid = 0, gid = 0;
  uint32_t handle = 0, object = 0, parent = 0, name = 0, xattr = 0;  // local indices last used
  uint64_t owner = 0;
};

struct ObjectContext {
  ObjectId id = 0;
  bool has_attr = false;
  Attr attr;
};

struct HandleContext {
  HandleId id = 0;
  uint32_t object = 0;
  uint64_t next_offset = 0, length = 0;
};

struct NameContext {
  std::string_view text;
  bool component = true;  // could be used as one path component
  uint32_t parent = 0, object = 0;
};

struct KindContext {
  uint64_t op_flags = 0, mode = 0, flags = 0, open_flags = 0, offset = 0, length = 0, result = 0;
};

// Local index 0 of each dictionary is "none".
struct Context {
  std::vector<ThreadContext> threads;
  std::vector<ObjectContext> objects;
  std::vector<HandleContext> handles;
  std::vector<NameContext> names;
  KindContext kinds[kOpKinds];
  ObjectId last_object_id = 0, next_object_id = 1;
  HandleId last_handle_id = 0, next_handle_id = 1;
  ThreadId last_thread_id = 0;
  uint32_t thread = 0;
  Attr last_attr;
  uint64_t last_ino = 0;
  int64_t last_time = 0;

  void define_object(ObjectId id) {
    objects.push_back({.id = id});
    last_object_id = id;
    if (id >= next_object_id) next_object_id = id + 1;
  }
  void define_handle(HandleId id) {
    handles.push_back({.id = id});
    last_handle_id = id;
    if (id >= next_handle_id) next_handle_id = id + 1;
  }
  void clear() {
    threads.assign(1, {});
    objects.assign(1, {});
    handles.assign(1, {});
    names.assign(1, {});
    for (KindContext& k : kinds) k = {};
    last_object_id = last_handle_id = last_thread_id = 0;
    next_object_id = next_handle_id = 1;
    thread = 0;
    last_attr = {};
    last_ino = 0;
    last_time = 0;
  }
};

enum KindTrait : uint16_t {
  kHasName = 1u << 0,      // `name` is a path component below `parent`
  kHasXattr = 1u << 1,     // `name` is an attribute's name
  kHasHandle = 1u << 2,    // works on an open instance
  kMakesHandle = 1u << 3,  // success opens one
  kMakesObject = 1u << 4,  // success usually shows an object for the first time
  kNamesObject = 1u << 5,  // `object` is what the name leads to
  kHasObject = 1u << 6,
  kHasRange = 1u << 7,  // offset follows on from the handle's last
  kHasName2 = 1u << 8,
  kEndsHandle = 1u << 9,
};

constexpr uint16_t kind_traits(OpKind kind) {
  switch (kind) {
    case OpKind::lookup:
      return kHasName | kNamesObject;
    case OpKind::create:
      return kHasName | kMakesHandle | kMakesObject;
    case OpKind::tmpfile:
      return kMakesHandle | kMakesObject;
    case OpKind::mkdir:
    case OpKind::mknod:
    case OpKind::symlink:
      return kHasName | kMakesObject;
    case OpKind::unlink:
    case OpKind::rmdir:
      return kHasName | kNamesObject;
    case OpKind::rename:
      return kHasName | kHasName2 | kNamesObject;
    case OpKind::link:
      return kHasObject | kHasName2;
    case OpKind::open:
    case OpKind::opendir:
      return kHasObject | kMakesHandle;
    case OpKind::read:
    case OpKind::write:
    case OpKind::copy_file_range:
    case OpKind::fallocate:
    case OpKind::readdir:
    case OpKind::readdirplus:
      return kHasHandle | kHasObject | kHasRange;
    case OpKind::lseek:
    case OpKind::fsync:
    case OpKind::fsyncdir:
    case OpKind::flush:
    case OpKind::getlk:
    case OpKind::setlk:
    case OpKind::flock:
    case OpKind::ioctl:
      return kHasHandle | kHasObject;
    case OpKind::release:
    case OpKind::releasedir:
      return kHasHandle | kHasObject | kEndsHandle;
    case OpKind::getattr:
    case OpKind::statx:
    case OpKind::setattr:
    case OpKind::access:
    case OpKind::readlink:
    case OpKind::listxattr:
      return kHasObject;
    case OpKind::getxattr:
    case OpKind::setxattr:
    case OpKind::removexattr:
      return kHasObject | kHasXattr;
    case OpKind::null:
    case OpKind::statfs:
    case OpKind::syncfs:
      return 0;
  }
  return 0;
}

// True: the success of such an operation adds, moves or removes a name.
constexpr bool changes_names(OpKind kind) { return (kind_traits(kind) & (kHasName | kHasName2)) != 0 && kind != OpKind::lookup; }

// The reply of a setattr is expected to contain the attributes that it set.
inline Attr expected_attr(Attr base, const Attr* set) {
  if (!set) return base;
  if (set->valid & kAttrMode) base.mode = (base.mode & ~07777u) | (set->mode & 07777);
  if (set->valid & kAttrUid) base.uid = set->uid;
  if (set->valid & kAttrGid) base.gid = set->gid;
  if (set->valid & kAttrSize) base.size = set->size;
  if ((set->valid & kAttrAtime) && !(set->valid & kAttrAtimeNow)) base.atime = set->atime;
  if ((set->valid & kAttrMtime) && !(set->valid & kAttrMtimeNow)) base.mtime = set->mtime;
  return base;
}

template <class Coder, class AnyAttr>
void code_attr(Coder& c, Context& x, ObjectContext& object, const Attr* set, AnyAttr& a) {
  const Attr base = expected_attr(object.has_attr ? object.attr : x.last_attr, set);
  c.attr_begin(a.valid, base.valid);
  c.attr_value(kAttrMode, kColAttrMode, a.mode, base.mode);
  c.attr_value(kAttrUid, kColAttrOwner, a.uid, base.uid);
  c.attr_value(kAttrGid, kColAttrOwner, a.gid, base.gid);
  c.attr_delta(kAttrSize, kColAttrSize, a.size, base.size);
  c.attr_delta(kAttrNlink, kColAttrNlink, a.nlink, base.nlink);
  c.attr_delta(kAttrBlocks, kColAttrBlocks, a.blocks, base.blocks);
  c.attr_delta(kAttrRdev, kColAttrRdev, a.rdev, base.rdev);
  // One clock tick of the server stamps many files: a changed time is stored as the distance from the last stored time.
  c.attr_time(kAttrMtime, a.mtime, base.mtime, &x.last_time);
  c.attr_time(kAttrCtime, a.ctime, object.has_attr && a.mtime == base.mtime ? base.ctime : a.mtime, &x.last_time);
  c.attr_time(kAttrAtime, a.atime, object.has_attr ? base.atime : a.mtime, &x.last_time);
  c.attr_time(kAttrBtime, a.btime, object.has_attr ? base.btime : a.mtime, &x.last_time);
  c.attr_end();
  object.attr = x.last_attr = a;
  object.has_attr = true;
}

// The row's kind is known; times are coded by the caller. Members that the kind has no use for are expected to be 0.
template <class Coder, class AnyOp>
void code_op(Coder& c, Context& x, AnyOp& op) {
  const uint16_t traits = kind_traits(op.kind);
  KindContext& k = x.kinds[unsigned(op.kind)];

  c.value(kRowOpFlags, kColOpFlags, op.op_flags, k.op_flags);
  k.op_flags = op.op_flags;
  c.value(kRowError, kColError, op.error, uint64_t(0));
  const bool good = op.error == 0;

  x.thread = c.thread(op, x.thread);
  ThreadContext& t = x.threads[x.thread];
  c.pair(kRowCredentials, kColUid, op.uid, t.uid, kColGid, op.gid, t.gid);
  t.uid = op.uid;
  t.gid = op.gid;

  c.value(kRowMode, kColMode, op.mode, k.mode);
  k.mode = op.mode;
  c.value(kRowFlags, kColFlags, op.flags, k.flags);
  k.flags = op.flags;
  uint32_t open_flags = trace_open_flags(op.open_flags);
  c.value(kRowOpenFlags, kColOpenFlags, open_flags, k.open_flags);
  k.open_flags = open_flags;
  if constexpr (!std::is_const_v<AnyOp>) op.open_flags = local_open_flags(open_flags);

  const bool path_name = (traits & kHasName) != 0;
  uint32_t name = kNone, parent = kNone, name2 = kNone, parent2 = kNone;
  struct {
    uint32_t parent = kNone, object = kNone;
  } seen;  // in the latest use of this name, if there was one
  const bool named = (traits & (kHasName | kHasName2 | kHasXattr)) != 0 || op.kind == OpKind::tmpfile;
  if (named || c.any(kRowName | kRowParent | kRowName2 | kRowParent2,
                     [&] { return op.parent || op.parent2 || !op.name.empty() || !op.name2.empty(); })) {
    if (traits & kHasXattr)
      name = t.xattr = c.name(kRowName, op.name, t.xattr);
    else
      name = c.name(kRowName, op.name, path_name ? t.name : kNone);
    seen = {x.names[name].parent, x.names[name].object};
    parent = c.object(kRowParent, kColParent, op.parent,
                      path_name                    ? (seen.parent ? seen.parent : t.parent)
                      : op.kind == OpKind::tmpfile ? t.parent
                                                   : kNone);
    name2 = c.name(kRowName2, op.name2, traits & kHasName2 ? t.name : kNone);
    parent2 = c.object(kRowParent2, kColParent2, op.parent2,
                       op.kind == OpKind::rename ? parent
                       : op.kind == OpKind::link ? t.parent
                                                 : kNone);
  }

  const uint32_t handle = c.handle(kRowHandle, kColHandle, op.handle,
                                   traits & kMakesHandle ? (good ? kFresh : kNone)
                                   : traits & kHasHandle ? t.handle
                                                         : kNone);
  HandleContext* h = &x.handles[handle];
  uint32_t expected = kNone;
  if (handle && h->object)
    expected = h->object;
  else if (traits & kMakesObject)
    expected = good ? kFresh : kNone;
  else if (traits & kNamesObject)
    expected = !good ? kNone : seen.object && seen.parent == parent ? seen.object : op.kind == OpKind::lookup ? kFresh : kNone;
  else if (traits & kHasObject)
    expected = t.object;
  const uint32_t object = c.object(kRowObject, kColObject, op.object, expected);
  if (handle) h->object = object;

  uint32_t handle2 = kNone;
  if (c.any(kRowHandle2 | kRowObject2 | kRowOffset2, [&] { return op.handle2 || op.object2 || op.offset2; })) {
    handle2 = c.handle(kRowHandle2, kColHandle2, op.handle2, kNone);
    c.object(kRowObject2, kColObject2, op.object2, x.handles[handle2].object);
    c.delta(kRowOffset2, kColOffset2, op.offset2, x.handles[handle2].next_offset);
    h = &x.handles[handle];  // a new entry may have moved it
  }

  c.delta(kRowOffset, kColOffset, op.offset, traits & kHasRange && handle ? h->next_offset : k.offset);
  k.offset = op.offset;
  c.value(kRowLength, kColLength, op.length, traits & kHasRange && h->length ? h->length : k.length);
  k.length = op.length;
  if (handle2) x.handles[handle2].next_offset = op.offset2 + op.length;
  if (c.present(kRowEntries, !op.entries.empty())) c.entries(op, x);

  uint64_t result = 0;
  switch (op.kind) {
    case OpKind::read:
    case OpKind::write:
    case OpKind::copy_file_range:
      result = good ? op.length : 0;
      break;
    case OpKind::readdir:
    case OpKind::readdirplus:
      result = op.entries.size();
      break;
    case OpKind::lseek:
      result = good ? op.offset : 0;
      break;
    default:
      result = good ? k.result : 0;
  }
  c.value(kRowResult, kColResult, op.result, result);
  if (good) k.result = op.result;
  c.value(kRowOwner, kColOwner, op.owner, traits & kHasHandle ? t.owner : 0);
  if (op.owner) t.owner = op.owner;
  if (c.present(kRowData, !op.data.empty())) c.data(op.data);
  if (c.present(kRowSet, op.set != nullptr)) c.set(op.set);
  if (c.present(kRowAttr, c.has_attr(op))) c.attr(op.attr, x, x.objects[object], op.set);
  if (c.present(kRowBlocks, !op.blocks.empty())) c.blocks(op.blocks);

  if (handle && traits & kHasRange && good) {
    h->next_offset = op.offset + op.result;
    h->length = op.length;
  }
  if (op.kind == OpKind::write && good && x.objects[object].has_attr) {
    uint64_t& size = x.objects[object].attr.size;
    size = std::max(size, op.offset + op.result);
  }
  if (handle) t.handle = traits & kEndsHandle ? kNone : handle;
  if (object) t.object = object;
  if (path_name) {
    t.name = name;
    t.parent = parent;
    x.names[name].parent = parent;
    if (object || !good) x.names[name].object = object;
    if (op.kind == OpKind::unlink || op.kind == OpKind::rmdir || op.kind == OpKind::rename)
      if (good) x.names[name].object = kNone;
  }
  if (traits & kHasName2 && good) {
    x.names[name2].parent = parent2;
    x.names[name2].object = object;
  }
}

}  // namespace fsr
