// SPDX-License-Identifier: Apache-2.0
// The serial form of LiveState: the body of a checkpoint.
//
//   varint version (1), varint highest object
//   varint count, objects: varint id, varint valid, the valid members in AttrField order (times zigzag), text target
//   varint count, names: varint parent, varint object, varint type >> 12, text name
//   varint count, opens: varint handle, object, open_flags, thread, directory (0, 1)
//   varint count, locks: varint object, handle, owner, offset, length, mode, flock (0, 1)
#include <fcntl.h>

#include "bytes.hpp"
#include "live_impl.hpp"
#include "op_limits.hpp"
#include "open_flags.hpp"

namespace fsr {

constexpr uint64_t kSerialVersion = 1;
constexpr size_t kPart = 512 << 10;  // bytes: small beside the state itself

static void put_attr(ByteWriter& out, const Attr& a) {
  out.varint(a.valid);
  if (a.valid & kAttrMode) out.varint(a.mode);
  if (a.valid & kAttrUid) out.varint(a.uid);
  if (a.valid & kAttrGid) out.varint(a.gid);
  if (a.valid & kAttrSize) out.varint(a.size);
  if (a.valid & kAttrNlink) out.varint(a.nlink);
  if (a.valid & kAttrAtime) out.svarint(a.atime);
  if (a.valid & kAttrMtime) out.svarint(a.mtime);
  if (a.valid & kAttrCtime) out.svarint(a.ctime);
  if (a.valid & kAttrBlocks) out.varint(a.blocks);
  if (a.valid & kAttrRdev) out.varint(a.rdev);
  if (a.valid & kAttrBtime) out.svarint(a.btime);
}

static Attr get_attr(ByteReader& in) {
  Attr a;
  a.valid = uint32_t(in.varint());
  if (a.valid & kAttrMode) a.mode = uint32_t(in.varint());
  if (a.valid & kAttrUid) a.uid = uint32_t(in.varint());
  if (a.valid & kAttrGid) a.gid = uint32_t(in.varint());
  if (a.valid & kAttrSize) a.size = in.varint();
  if (a.valid & kAttrNlink) a.nlink = in.varint();
  if (a.valid & kAttrAtime) a.atime = in.svarint();
  if (a.valid & kAttrMtime) a.mtime = in.svarint();
  if (a.valid & kAttrCtime) a.ctime = in.svarint();
  if (a.valid & kAttrBlocks) a.blocks = in.varint();
  if (a.valid & kAttrRdev) a.rdev = in.varint();
  if (a.valid & kAttrBtime) a.btime = in.svarint();
  return a;
}

void LiveState::Impl::serialize(const Sink& sink) const {
  ByteWriter out;
  auto full = [&] {
    if (out.size() < kPart) return;
    sink(out.view(), false);
    out.clear();
  };
  out.varint(kSerialVersion);
  out.varint(highest);
  out.varint(objects.size());
  objects.each([&](const LiveObject& o) {
    out.varint(o.id);
    put_attr(out, o.attr);
    out.text(o.target);
    full();
  });
  out.varint(names.size());
  names.each([&](const LiveName& n) {
    out.varint(n.parent);
    out.varint(n.object);
    out.varint(n.type >> 12);
    out.text(n.name);
    full();
  });
  out.varint(opens.size());
  opens.each([&](const LiveOpen& h) {
    for (uint64_t v : {h.handle, h.object, uint64_t(trace_open_flags(h.open_flags)), uint64_t(h.thread), uint64_t(h.directory)})
      out.varint(v);
    full();
  });
  size_t held = 0;
  for (const auto& [id, list] : locks) held += list.size();
  out.varint(held);
  for (const auto& [id, list] : locks)
    for (const auto& [key, l] : list) {
      for (uint64_t v : {l.object, l.handle, l.owner, l.offset, l.length, uint64_t(l.mode), uint64_t(l.flock)}) out.varint(v);
      full();
    }
  sink(out.view(), true);
}

bool LiveState::Impl::restore(std::string_view serialized) {
  ByteReader in(serialized);
  if (in.varint() != kSerialVersion) return false;
  highest = in.varint();
  if (highest > kMostId) return false;
  for (uint64_t n = in.varint(); n && in.ok(); --n) {
    ObjectId id = in.varint();
    LiveObject& o = take(id);
    o.attr = get_attr(in);
    if (id > kMostId || !size_possible(&o.attr)) return false;
    point(o, in.text());
    check_size();
  }
  for (uint64_t n = in.varint(); n && in.ok(); --n) {
    ObjectId parent = in.varint(), object = in.varint();
    uint32_t type = uint32_t(in.varint()) << 12;
    std::string_view name = in.text();
    if (!in.ok() || !valid_component(name) || parent > kMostId || object > kMostId) return false;
    bind({parent, name}, object, type);
    check_size();
  }
  for (uint64_t n = in.varint(); n && in.ok(); --n) {
    Op op;
    op.handle = in.varint();
    op.object = in.varint();
    if (op.handle > kMostId || op.object > kMostId) return false;
    op.open_flags = local_open_flags(uint32_t(in.varint())) & ~uint32_t(O_TRUNC);
    op.thread = ThreadId(in.varint());
    opened(op, in.varint() != 0);
    check_size();
  }
  for (uint64_t n = in.varint(); n && in.ok(); --n) {
    LiveLock l;
    l.object = in.varint();
    l.handle = in.varint();
    l.owner = in.varint();
    l.offset = in.varint();
    l.length = in.varint();
    l.mode = uint32_t(in.varint());
    l.flock = in.varint() != 0;
    if (!in.ok() || l.object > kMostId || l.handle > kMostId) return false;
    lock_count += locks[l.object].insert_or_assign(LockKey::of(l), l).second;
    check_size();
  }
  return in.ok();
}

void LiveState::Impl::rename_into(Impl& to, const Renaming& renaming) const {
  to.limit = limit;
  to.highest = highest;
  objects.each([&](const LiveObject& o) {
    LiveObject& copy = to.take(o.id);
    copy.attr = o.attr;
    if (renaming.attr) renaming.attr(copy.attr);
    if (!o.target.empty()) to.point(copy, renaming.target ? renaming.target(o.target) : o.target);
  });
  names.each([&](const LiveName& n) { to.bind({n.parent, renaming.name ? renaming.name(n.name) : n.name}, n.object, n.type); });
  opens.each([&](const LiveOpen& h) {
    Op op{.thread = h.thread, .open_flags = h.open_flags & ~uint32_t(O_TRUNC)};
    op.object = h.object;
    op.handle = h.handle;
    to.opened(op, h.directory);
  });
  to.lock_count = lock_count;
  for (const auto& [id, list] : locks)
    for (auto [key, l] : list) {
      if (renaming.owner) l.owner = renaming.owner(l.owner);
      to.locks[id].emplace(LockKey::of(l), l);
    }
}

LiveState LiveState::renamed(const Renaming& renaming) const {
  LiveState out;
  impl_->rename_into(*out.impl_, renaming);
  return out;
}

void LiveState::serialize(const Sink& sink) const { impl_->serialize(sink); }

std::string LiveState::serialize() const {
  std::string whole;
  impl_->serialize([&](std::string_view part, bool) { whole += part; });
  return whole;
}

bool LiveState::restore(std::string_view serialized) {
  Impl fresh;
  fresh.limit = impl_->limit;
  fresh.take(kRootObject);
  if (!fresh.restore(serialized)) return false;
  fresh.discovered = std::move(impl_->discovered);
  *impl_ = std::move(fresh);
  return true;
}

}  // namespace fsr
