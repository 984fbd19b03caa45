// SPDX-License-Identifier: Apache-2.0
#include "plan/image_builder.hpp"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <stdexcept>

#include "util/name_hash.hpp"
#include "util/units.hpp"

#include "plan/print_data.hpp"

namespace fsr {

ImageBuilder::ImageBuilder(ImageTree& tree, LiveState state) : tree_(tree), state_(std::move(state)) {
  object(kRootObject, S_IFDIR);
  state_.each_object([this](const LiveObject& live) {
    ImageObject& o = object(live.id, live.attr.valid & kAttrMode ? live.attr.mode & S_IFMT : 0);
    learn(o, live.attr);
    o.target = live.target;
  });
  state_.each_name(
      [this](ObjectId parent, std::string_view name, ObjectId id, uint32_t type) { discovered(parent, name, id, type); });
  state_.each_open([this](const LiveOpen& live) {
    tree_.opens.push_back(live);
    open_.insert(live.handle);
    tree_.next_handle = std::max(tree_.next_handle, live.handle + 1);
    object(live.object, live.directory ? S_IFDIR : S_IFREG).opened = true;
  });
  state_.each_lock([this](const LiveLock& lock) { tree_.locks.push_back(lock); });
  state_.on_discovered(
      [this](ObjectId parent, std::string_view name, ObjectId id, uint32_t type) { discovered(parent, name, id, type); });
}

ImageObject* ImageBuilder::find(ObjectId id) {
  auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tree_.objects[found->second];
}

ImageObject& ImageBuilder::object(ObjectId id, uint32_t type) {
  auto [it, news] = by_id_.try_emplace(id, uint32_t(tree_.objects.size()));
  if (news) tree_.objects.emplace_back().id = id;
  tree_.next_object = std::max(tree_.next_object, id + 1);
  ImageObject& o = tree_.objects[it->second];
  if (!o.type) o.type = type & S_IFMT;
  return o;
}

void ImageBuilder::discovered(ObjectId parent, std::string_view name, ObjectId id, uint32_t type) {
  if (!parent) {
    if (id) object(id, type);
    return;
  }
  if (!valid_component(name) || (parent == kRootObject && name == ".fsreplay")) {
    ++tree_.summary.refused_names;
    return;
  }
  object(parent, S_IFDIR);
  auto [it, news] = by_name_.try_emplace(name_hash(parent, name), uint32_t(tree_.names.size()));
  if (!news) {
    // If the name was known only from a listing, this call identifies its object. Otherwise the name was made anew without being
    // captured, and the first object stays.
    ImageName& known = tree_.names[it->second];
    if (id && !tree_.objects[known.object].id) {
      auto [place, first] = by_id_.try_emplace(id, known.object);
      if (first) {
        tree_.objects[known.object].id = id;
        tree_.next_object = std::max(tree_.next_object, id + 1);
      } else {
        known.object = place->second;
      }
    }
    return;
  }
  uint32_t index;
  if (id) {
    object(id, type);
    index = by_id_[id];
  } else {
    index = uint32_t(tree_.objects.size());
    tree_.objects.emplace_back().type = type & S_IFMT;
  }
  tree_.names.push_back({.parent = parent, .name = std::string(name), .object = index});
  text_ += name.size();
}

void ImageBuilder::learn(ImageObject& o, const Attr& attr) {
  uint32_t news = attr.valid & ~o.attr.valid;
  if (news & kAttrMode && attr.mode & S_IFMT) o.type = attr.mode & S_IFMT;
  news &= ~o.changed;
  if (news & kAttrMode) o.attr.mode = attr.mode;
  if (news & kAttrUid) o.attr.uid = attr.uid;
  if (news & kAttrGid) o.attr.gid = attr.gid;
  if (news & kAttrNlink) o.attr.nlink = attr.nlink;
  if (news & kAttrRdev) o.attr.rdev = attr.rdev;
  if (o.size_changed) news &= ~uint32_t(kAttrSize | kAttrBlocks);
  if (news & kAttrSize) o.attr.size = attr.size;
  if (news & kAttrBlocks) o.attr.blocks = attr.blocks;
  o.attr.valid |= news & (kAttrMode | kAttrUid | kAttrGid | kAttrNlink | kAttrRdev | kAttrSize | kAttrBlocks);
}

void ImageBuilder::apply(const Op& op) {
  for (ObjectId id : {op.object, op.object2, op.parent, op.parent2}) tree_.next_object = std::max(tree_.next_object, id + 1);
  tree_.next_handle = std::max({tree_.next_handle, op.handle + 1, op.handle2 + 1});
  state_.apply(op);
  // bytes of the index entry that each object and name has as well
  constexpr size_t kIndexed = 48;
  if (state_.memory() + tree_.objects.size() * (sizeof(ImageObject) + kIndexed) +
          tree_.names.size() * (sizeof(ImageName) + kIndexed) + text_ >
      tree_.options.memory)
    throw std::length_error("the " + format_count(tree_.names.size()) + " names of the initial image take more than " +
                            format_size(tree_.options.memory) + ", half of this machine's memory");
  if (op.error || op.has(kOpUnfinished)) return;
  handles(op);
  observe(op);
}

// Adds an open instance that is used but was never opened: it was open at the start.
void ImageBuilder::handles(const Op& op) {
  if (!op.handle) return;
  switch (op.kind) {
    case OpKind::open:
    case OpKind::opendir:
    case OpKind::create:
    case OpKind::tmpfile:
      open_.insert(op.handle);
      return;
    case OpKind::release:
    case OpKind::releasedir:
      if (open_.erase(op.handle)) return;
      break;
    default:
      if (!open_.insert(op.handle).second) return;
  }
  if (!op.object) return;
  bool directory = op.kind == OpKind::readdir || op.kind == OpKind::readdirplus || op.kind == OpKind::releasedir ||
                   op.kind == OpKind::fsyncdir;
  ImageObject& o = object(op.object, directory ? S_IFDIR : S_IFREG);
  o.opened = true;
  tree_.opens.push_back({.handle = op.handle,
                         .object = op.object,
                         .open_flags = uint32_t(directory ? O_RDONLY | O_DIRECTORY : O_RDWR),
                         .thread = op.thread,
                         .directory = directory});
}

void ImageBuilder::overwritten(ImageObject& o, uint64_t from, uint64_t to, bool keeps_size) {
  if (tree_.options.content) o.settled.add(from, to);
  if (o.holes()) o.touched.add(from, to);
  o.reshaped |= o.holes();
  if (!keeps_size) o.changed_to = std::max(o.changed_to, to);
  if (!keeps_size && (!(o.attr.valid & kAttrSize) || to > o.attr.size)) o.size_changed = true;
}

// Notes that the initial content of a file with holes was read. The data is placed where the first reads are, in blocks.
void ImageBuilder::data_read(ImageObject& o, uint64_t from, uint64_t to) {
  constexpr uint64_t kBlock = 4096;
  const uint64_t end = std::min((to + kBlock - 1) / kBlock * kBlock, o.size());
  if (o.data_bytes == o.data_length()) return;
  o.touched.add(from / kBlock * kBlock, end, [&](uint64_t at, uint64_t until) {
    const uint64_t length = std::min(o.data_length() - o.data_bytes, until - at);
    o.data_bytes += length;
    if (length == 0) return;
    if (!o.data.empty() && o.data.back().offset + o.data.back().length == at)
      o.data.back().length += length;
    else
      o.data.push_back({at, length});
  });
}

void ImageBuilder::content(ImageObject& o, const Op& op) {
  const uint64_t end = op.offset + op.result;
  if (op.result && (!o.size_changed || end > o.changed_to)) o.read_end = std::max(o.read_end, end);
  if (op.result && o.holes()) data_read(o, op.offset, end);
  if (!tree_.options.content) return;
  std::string made;
  std::string_view data = op.data;
  if (!op.blocks.empty()) {
    made.resize(op.result);
    print_data(op.blocks, op.offset, {made.data(), made.size()});
    data = made;
  } else if (!op.has(kOpData)) {
    return;
  }
  o.settled.add(op.offset, op.offset + data.size(), [&](uint64_t from, uint64_t to) {
    o.extents.push_back({from, to - from, tree_.spill.append(data.substr(from - op.offset, to - from))});
  });
}

void ImageBuilder::xattr(ImageObject& o, const Op& op) {
  o.reshaped |= op.kind != OpKind::getxattr;
  auto found = std::ranges::find(o.xattrs, op.name, &ImageXattr::name);
  if (found == o.xattrs.end()) {
    found = o.xattrs.insert(found, {.name = std::string(op.name), .size = op.length});
    found->present = op.kind != OpKind::setxattr || op.flags == XATTR_REPLACE;
    text_ += sizeof(ImageXattr) + found->name.size();
  }
  if (found->settled) return;
  const bool read = op.kind == OpKind::getxattr;
  found->settled = !read || op.has(kOpData);
  // Many programs ask for the size first.
  if (read) found->size = op.result;
  if (read && op.has(kOpData)) {
    found->value = op.data;
    text_ += op.data.size();
  }
}

void ImageBuilder::observe(const Op& op) {
  ImageObject* o = op.object ? find(op.object) : nullptr;
  if (op.kind == OpKind::copy_file_range)
    if (ImageObject* to = find(op.object2)) overwritten(*to, op.offset2, op.offset2 + op.result, false);
  if (!o) return;
  bool truncates = (op.open_flags & O_TRUNC) && (op.kind == OpKind::open || op.kind == OpKind::create);
  if (op.kind == OpKind::setattr && op.set && (op.set->valid & kAttrSize)) {
    overwritten(*o, op.set->size, UINT64_MAX, true);
    o->size_changed = o->reshaped = true;
    o->changed_to = UINT64_MAX;
  }
  if (truncates) {
    overwritten(*o, 0, UINT64_MAX, true);
    o->size_changed = o->reshaped = true;
    o->changed_to = UINT64_MAX;
  }
  if (op.kind == OpKind::setattr && op.set) o->changed |= op.set->valid & (kAttrMode | kAttrUid | kAttrGid);
  // The attributes that an operation returns are those after it. A setattr tells nothing about the initial image.
  if (op.attr && op.kind != OpKind::setattr) {
    Attr before = *op.attr;
    const bool writes = op.kind == OpKind::write, allocates = op.kind == OpKind::fallocate;
    if (writes || allocates) before.valid &= ~uint32_t(kAttrBlocks);
    // A write that ends where the file does has appended, as far as can be told.
    if ((writes || (allocates && !(op.mode & FALLOC_FL_KEEP_SIZE))) &&
        op.offset + (writes ? op.result : op.length) >= before.size)
      before.size = std::min(before.size, op.offset);
    learn(*o, before);
  }
  switch (op.kind) {
    case OpKind::read:
      content(*o, op);
      break;
    case OpKind::write:
      overwritten(*o, op.offset, op.offset + op.result, false);
      break;
    case OpKind::fallocate:
      overwritten(*o, op.offset, op.offset + op.length, op.mode & FALLOC_FL_KEEP_SIZE);
      o->reshaped = true;
      break;
    case OpKind::readlink:
      if (o->target.empty()) o->target = op.data;
      o->type = S_IFLNK;
      break;
    case OpKind::getxattr:
    case OpKind::setxattr:
    case OpKind::removexattr:
      xattr(*o, op);
      break;
    default:
      break;
  }
}

}  // namespace fsr
