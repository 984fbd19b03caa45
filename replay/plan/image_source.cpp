// SPDX-License-Identifier: Apache-2.0
#include "plan/image_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <span>
#include <unordered_set>

#include "base/target.hpp"
#include "plan/clones.hpp"

namespace fsr {

constexpr uint64_t kWrite = 1 << 20;     // bytes of one write
constexpr size_t kBatchOps = 1024;       // operations of one batch, about
constexpr size_t kBatchBytes = 8 << 20;  // bytes of captured content in one batch, about
constexpr ThreadId kStreams = 64;        // files that are made at the same time

static uint32_t permissions(const ImageObject& o) {
  if (o.attr.valid & kAttrMode) return o.attr.mode & 07777;
  return o.directory() ? 0755 : 0644;
}

Attr image_attributes(const ImageTree& tree, const ImageObject& o) {
  Attr set{.valid = kAttrMode, .mode = permissions(o)};
  if (tree.options.owners && (o.attr.valid & kAttrUid) && (o.attr.valid & kAttrGid)) {
    set.valid |= kAttrUid | kAttrGid;
    set.uid = o.attr.uid;
    set.gid = o.attr.gid;
  }
  return set;
}

std::string image_link_target(const ImageObject& o) {
  return o.target.empty() ? std::string(std::clamp<uint64_t>(o.size(), 1, 1024), '_') : o.target;
}

static const Attr* attributes(OpBatch& batch, const ImageTree& tree, const ImageObject& o) {
  Attr* set = batch.arena.make<Attr>();
  *set = image_attributes(tree, o);
  return set;
}

ImageContents::ImageContents(const ImageTree& tree, const PresentNames& present, std::string marker)
    : tree_(tree), present_(present), marker_(std::move(marker)), clone_(tree.options.clones.first) {}

uint64_t ImageContents::operations(const ImageTree& tree) {
  uint64_t n = 0;
  for (const ImageName& name : tree.names) {
    const ImageObject& o = tree.objects[name.object];
    ++n;
    if (name.link) continue;
    n += o.xattrs.size();
    if (o.type != S_IFREG) continue;
    n += 2 + (o.data_length() < o.size()) + (o.data_length() + kWrite - 1) / kWrite + o.data.size();
  }
  return n * tree.options.clones.count() + 3;
}

Op& ImageContents::add(OpBatch& batch, OpKind kind) {
  Op& op = batch.ops.emplace_back();
  op.kind = kind;
  op.seq = seq_++;
  op.thread = ThreadId(1 + files_ % kStreams);
  return op;
}

// Makes the marker file, whose id differs from every recorded id of every clone.
void ImageContents::make_marker(OpBatch& batch) {
  ObjectId object = tree_.spare_object(0);
  HandleId handle = tree_.spare_handle(0);
  Op* op = &add(batch, OpKind::create);
  op->parent = kRootObject;
  op->name = kMarkerName;
  op->open_flags = O_CREAT | O_TRUNC | O_RDWR;
  op->mode = S_IFREG | 0644;
  op->op_flags = kOpCreated;
  op->object = object;
  op->handle = handle;
  op = &add(batch, OpKind::write);
  op->object = object;
  op->handle = handle;
  op->data = batch.arena.copy(marker_);
  op->op_flags = kOpData;
  op->length = op->result = marker_.size();
  op = &add(batch, OpKind::release);
  op->object = object;
  op->handle = handle;
  ++files_;
}

void ImageContents::make_clone_root(OpBatch& batch) {
  const size_t index = tree_.options.clones.all * tree_.names.size() + clone_;
  if (index < present_.size() && present_[index]) return;
  Op& op = add(batch, OpKind::mkdir);
  op.parent = kRootObject;
  op.name = batch.arena.copy(clone_directory(clone_));
  op.mode = 0755;
  op.object = tree_.object_id(kRootObject, clone_);
  ++files_;
}

bool ImageContents::next(OpBatch& batch) {
  batch.clear();
  batch_bytes_ = 0;
  if (!begun_) {
    begun_ = true;
    if (!marker_.empty()) make_marker(batch);
    if (tree_.options.clones.all > 1) make_clone_root(batch);
  }
  while (clone_ < tree_.options.clones.all && batch.ops.size() < kBatchOps && batch_bytes_ < kBatchBytes) emit(batch);
  return !batch.ops.empty();
}

void ImageContents::next_name() {
  step_ = Step::make;
  position_ = 0;
  ++files_;
  ++at_;
}

void ImageContents::emit(OpBatch& batch) {
  if (at_ == tree_.names.size()) {
    at_ = 0;
    if ((clone_ += tree_.options.clones.step) < tree_.options.clones.all) make_clone_root(batch);
    return;
  }
  const ImageName& name = tree_.names[at_];
  const ImageObject& o = tree_.objects[name.object];
  size_t index = clone_ * tree_.names.size() + at_;
  if (index < present_.size() && present_[index]) {
    next_name();
    return;
  }
  switch (step_) {
    case Step::make:
      make(batch, name, o);
      break;
    case Step::size:
      if (o.data_length() < o.size()) {
        Op& op = add(batch, OpKind::setattr);
        Attr* set = batch.arena.make<Attr>();
        set->valid = kAttrSize;
        set->size = o.size();
        op.set = set;
        op.object = tree_.object_id(o.id, clone_);
        op.handle = tree_.spare_handle(1 + index);
      }
      step_ = Step::fill;
      break;
    case Step::fill:
      fill(batch, o);
      break;
    case Step::extents:
      extent(batch, o);
      break;
    case Step::xattrs:
      xattr(batch, o);
      break;
    case Step::attributes: {
      Op& op = add(batch, OpKind::setattr);
      op.set = attributes(batch, tree_, o);
      op.object = tree_.object_id(o.id, clone_);
      op.handle = tree_.spare_handle(1 + index);
      step_ = Step::close;
      break;
    }
    case Step::close: {
      Op& op = add(batch, OpKind::release);
      op.object = tree_.object_id(o.id, clone_);
      op.handle = tree_.spare_handle(1 + index);
      next_name();
      break;
    }
  }
}

void ImageContents::make(OpBatch& batch, const ImageName& name, const ImageObject& o) {
  ObjectId parent = tree_.object_id(name.parent, clone_);
  ObjectId object = tree_.object_id(o.id, clone_);
  if (name.link) {
    if (name.there) {  // as another file
      Op& unlink = add(batch, OpKind::unlink);
      unlink.parent = parent;
      unlink.name = name.name;
    }
    Op& op = add(batch, OpKind::link);
    op.object = object;
    op.parent2 = parent;
    op.name2 = name.name;
    next_name();
    return;
  }
  if (name.there && take_over(batch, name, o)) return;
  OpKind kind = o.type == S_IFREG   ? OpKind::create
                : o.type == S_IFDIR ? OpKind::mkdir
                : o.type == S_IFLNK ? OpKind::symlink
                                    : OpKind::mknod;
  Op& op = add(batch, kind);
  op.parent = parent;
  op.name = name.name;
  op.object = object;
  op.op_flags = kOpCreated;
  op.mode = o.type | permissions(o);
  position_ = 0;
  step_ = Step::xattrs;
  switch (kind) {
    case OpKind::create:
      op.open_flags = O_CREAT | (tree_.options.in_use ? O_EXCL : O_TRUNC) | O_RDWR;
      op.handle = tree_.spare_handle(1 + clone_ * tree_.names.size() + at_);
      step_ = Step::size;
      break;
    case OpKind::mkdir:
      op.op_flags = 0;
      op.mode |= 0700;  // so that files can be made in it
      break;
    case OpKind::symlink:
      op.op_flags = 0;
      op.data = batch.arena.copy(image_link_target(o));
      break;
    default:
      op.op_flags = 0;
      op.flags = uint32_t(o.attr.rdev);
  }
}

// Takes over what an earlier image has made of the name. False: it is removed, and has to be made anew.
bool ImageContents::take_over(OpBatch& batch, const ImageName& name, const ImageObject& o) {
  const bool anew = o.type == S_IFLNK && !o.target.empty();
  Op& found = add(batch, anew ? OpKind::unlink : OpKind::lookup);
  found.parent = tree_.object_id(name.parent, clone_);
  found.name = name.name;
  if (anew) return false;
  found.object = tree_.object_id(o.id, clone_);
  position_ = 0;
  step_ = Step::xattrs;
  if (o.type != S_IFREG) return true;
  Op& open = add(batch, OpKind::open);
  open.object = tree_.object_id(o.id, clone_);
  open.handle = tree_.spare_handle(1 + clone_ * tree_.names.size() + at_);
  open.open_flags = O_RDWR;
  step_ = Step::size;
  return true;
}

void ImageContents::fill(OpBatch& batch, const ImageObject& o) {
  const ImageRange front{0, o.data_length()};
  const std::span<const ImageRange> data = o.data.empty() ? std::span(&front, 1) : std::span(o.data);
  auto captured = [&](const ImageRange& r) { return o.settled.covers(r.offset, r.offset + r.length); };
  if (range_ < data.size() && position_ == data[range_].length) {
    ++range_;
    position_ = 0;
  }
  // If all of the content was captured, there is nothing to make up.
  if (range_ == data.size() || (range_ == 0 && position_ == 0 && !o.extents.empty() && std::ranges::all_of(data, captured))) {
    step_ = Step::extents;
    range_ = 0;
    position_ = 0;
    return;
  }
  Op& op = add(batch, OpKind::write);
  op.object = tree_.object_id(o.id, clone_);
  op.handle = tree_.spare_handle(1 + clone_ * tree_.names.size() + at_);
  op.offset = data[range_].offset + position_;
  op.length = op.result = std::min(kWrite, data[range_].length - position_);
  position_ += op.length;
}

void ImageContents::extent(OpBatch& batch, const ImageObject& o) {
  if (position_ == o.extents.size()) {
    step_ = Step::xattrs;
    position_ = 0;
    return;
  }
  const ImageExtent& e = o.extents[position_++];
  Op& op = add(batch, OpKind::write);
  op.object = tree_.object_id(o.id, clone_);
  op.handle = tree_.spare_handle(1 + clone_ * tree_.names.size() + at_);
  op.offset = e.offset;
  op.length = op.result = e.length;
  op.op_flags = kOpData;
  char* bytes = static_cast<char*>(batch.arena.allocate(e.length, 1));
  tree_.spill.read(e.spilled, bytes, e.length);
  op.data = {bytes, e.length};
  batch_bytes_ += e.length;
}

void ImageContents::xattr(OpBatch& batch, const ImageObject& o) {
  if (position_ == o.xattrs.size()) {
    if (o.type == S_IFREG)
      step_ = Step::attributes;
    else
      next_name();
    return;
  }
  const ImageXattr& x = o.xattrs[position_++];
  Op& op = add(batch, OpKind::setxattr);
  op.object = tree_.object_id(o.id, clone_);
  op.name = x.name;
  op.data = x.value.size() == x.size ? std::string_view(x.value) : batch.arena.copy(std::string(x.size, 'x'));
  op.op_flags = kOpData;
  op.length = x.size;
}

bool ImageLookups::next(OpBatch& batch) {
  batch.clear();
  for (; at_ < tree_.names.size() && batch.ops.size() < kBatchOps; ++at_) {
    if (at_ < known_.size() && known_[at_]) continue;
    const ImageName& name = tree_.names[at_];
    Op& op = batch.ops.emplace_back();
    op.kind = OpKind::lookup;
    op.seq = at_;
    op.thread = ThreadId(1 + at_ % kStreams);
    op.parent = name.parent;
    op.name = name.name;
    op.object = tree_.objects[name.object].id;
  }
  return !batch.ops.empty();
}

// Sets the modes of directories last, because a mode may forbid to make files in them. The root itself is set only if owners
// matter or if there are clones.
bool ImageSeal::next(OpBatch& batch) {
  batch.clear();
  for (; clone_ < tree_.options.clones.all && batch.ops.size() < kBatchOps; at_ = 0, clone_ += tree_.options.clones.step) {
    auto seal = [&](const ImageObject& o) {
      Op& op = batch.ops.emplace_back();
      op.kind = OpKind::setattr;
      op.seq = seq_++;
      op.thread = ThreadId(1 + op.seq % kStreams);
      op.object = tree_.object_id(o.id, clone_);
      op.set = attributes(batch, tree_, o);
    };
    const ImageObject& root = tree_.objects[0];
    if (at_ == 0 && sealed_.empty() && (root.attr.valid & kAttrMode) && (tree_.options.owners || tree_.options.clones.all > 1))
      seal(root);
    for (; at_ < tree_.names.size(); ++at_) {
      if (at_ < sealed_.size() && sealed_[at_]) continue;
      const ImageObject& o = tree_.objects[tree_.names[at_].object];
      bool owned = tree_.options.owners && o.type != S_IFREG;
      if (!tree_.names[at_].link && o.type != S_IFLNK && (owned || (o.directory() && permissions(o) != (permissions(o) | 0700))))
        seal(o);
    }
  }
  return !batch.ops.empty();
}

bool ImageOpens::next(OpBatch& batch) {
  batch.clear();
  if (clone_ >= tree_.options.clones.all) return false;
  auto add = [&](OpKind kind, ObjectId object, HandleId handle) -> Op& {
    Op& op = batch.ops.emplace_back();
    op.kind = kind;
    op.seq = seq_++;
    op.thread = 1;
    op.object = tree_.object_id(object, clone_);
    op.handle = tree_.handle_id(handle, clone_);
    return op;
  };
  auto opened_here = [&](HandleId handle) { return !opens_ || opens_(handle); };
  std::unordered_set<ObjectId> opened;
  for (const LiveOpen& open : tree_.opens) {
    if (!opened_here(open.handle)) continue;
    opened.insert(open.object);
    Op& op = add(open.directory ? OpKind::opendir : OpKind::open, open.object, open.handle);
    op.open_flags = open.open_flags & ~unsigned(O_CREAT | O_EXCL | O_TRUNC);
    if (open.thread) op.thread = tree_.options.clones.all > 1 ? open.thread * tree_.options.clones.all + clone_ : open.thread;
  }
  for (const LiveLock& lock : tree_.locks) {
    if (!opened_here(lock.handle)) continue;
    Op& op = add(lock.flock ? OpKind::flock : OpKind::setlk, lock.object, lock.handle);
    op.owner = tree_.options.clones.all > 1 ? CloneSource::object_of(lock.owner, clone_, tree_.options.clones.all) : lock.owner;
    op.offset = lock.offset;
    op.length = lock.length;
    op.mode = lock.mode;
  }
  // Unlink files that had lost their names before the start and are only open.
  for (const ImageName& name : tree_.names) {
    const ImageObject& o = tree_.objects[name.object];
    if (!name.placed || !o.opened || o.directory() || !opened.contains(o.id)) continue;
    Op& op = add(OpKind::unlink, o.id, 0);
    op.parent = tree_.object_id(name.parent, clone_);
    op.name = name.name;
  }
  clone_ += tree_.options.clones.step;
  if (batch.ops.empty()) return next(batch);
  return true;
}

}  // namespace fsr
