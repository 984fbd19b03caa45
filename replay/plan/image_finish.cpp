// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/limits.h>
#include <sys/stat.h>

#include <algorithm>

#include "plan/clones.hpp"
#include "plan/image_builder.hpp"
#include "trace/bytes.hpp"

namespace fsr {

// Returns an access control list (format: targets/posix_acl.hpp) of `size` bytes that grants no more than `mode`. Empty: no list
// has this size.
static std::string made_up_acl(uint64_t size, uint32_t mode) {
  constexpr uint64_t kHeader = 4, kEntry = 8;
  constexpr uint32_t kVersion = 2, kNone = UINT32_MAX, kNobody = 65534;
  constexpr uint32_t kUserObj = 0x01, kUser = 0x02, kGroupObj = 0x04, kMask = 0x10, kOther = 0x20;
  const uint64_t entries = size < kHeader ? 0 : (size - kHeader) / kEntry;
  if (size != kHeader + entries * kEntry || entries < 3 || size > XATTR_SIZE_MAX) return "";
  ByteWriter list;
  auto add = [&](uint32_t tag, uint32_t bits, uint32_t id) {
    list.u32(tag | (bits & 7) << 16);
    list.u32(id);
  };
  list.u32(kVersion);
  add(kUserObj, mode >> 6, kNone);
  for (uint64_t user = 4; user < entries; ++user) add(kUser, 0, kNobody);
  add(kGroupObj, mode >> 3, kNone);
  if (entries > 3) add(kMask, mode >> 3, kNone);
  add(kOther, mode, kNone);
  return std::string(list.view());
}

// Orders the data of a file with holes. Data that no read has placed is at the front.
static void place_data(ImageObject& o) {
  if (o.data.empty()) return;
  std::ranges::sort(o.data, {}, &ImageRange::offset);
  uint64_t left = o.data_length() - o.data_bytes, at = 0;
  std::vector<ImageRange> all;
  auto fill_to = [&](uint64_t to) {
    const uint64_t length = std::min(left, to - at);
    if (length) all.push_back({at, length});
    left -= length;
  };
  for (const ImageRange& read : o.data) {
    fill_to(read.offset);
    all.push_back(read);
    at = read.offset + read.length;
  }
  fill_to(o.size());
  o.data = std::move(all);
  o.touched.clear();
}

bool ImageBuilder::special_refused(const ImageObject& o) const {
  return !tree_.options.privileged && (o.type == S_IFCHR || o.type == S_IFBLK);
}

void ImageBuilder::finish() {
  for (const ImageName& name : tree_.names) ++tree_.objects[name.object].names;
  for (ImageObject& o : tree_.objects) {
    if (!o.type) o.type = S_IFREG;
    place_data(o);
    bool listed_only = !o.id;
    if (listed_only) o.id = tree_.next_object++;
    if (!(o.attr.valid & kAttrSize) && o.type == S_IFREG && !o.size_changed && o.read_end) ++tree_.summary.guessed_sizes;
    // A listing makes an object for each name. If the name turned out to belong to a known object, the one made has no name left.
    o.refused = special_refused(o) || (listed_only && !o.names);
    if (!tree_.options.privileged && (o.attr.mode & (S_ISUID | S_ISGID))) {
      o.attr.mode &= ~unsigned(S_ISUID | S_ISGID);
      // On a directory, set-group-id only means that new files inherit the group.
      if (!o.directory()) ++tree_.summary.stripped_bits;
    }
    std::erase_if(o.xattrs, [this, &o](ImageXattr& x) {
      if (!x.present) return true;
      const bool acl = x.name.starts_with("system.posix_acl_");
      // If only its size was asked for, as ls(1) does, any valid list of this size will do.
      const bool known = o.attr.valid & kAttrMode;
      // A default list limits the modes of new files. Theirs are recorded, so that it must take nothing away from them.
      if (acl && x.value.empty())
        x.value = made_up_acl(x.size, x.name == "system.posix_acl_default" ? 0777
                                      : known                              ? o.attr.mode
                                      : o.directory()                      ? 0755
                                                                           : 0644);
      if (acl && x.value.empty()) return true;
      bool allowed = tree_.options.privileged || acl || x.name.starts_with("user.");
      tree_.summary.refused_xattrs += !allowed;
      return !allowed;
    });
  }
  place_nameless();
  order_names();
  tree_.count();
  by_id_.clear();
  by_name_.clear();
  state_ = LiveState();
}

// Gives a name to objects that are used but whose names were never seen: in the root, or in the directory of their clone.
void ImageBuilder::place_nameless() {
  const unsigned clones = tree_.options.cloned;
  for (uint32_t i = 1; i < tree_.objects.size(); ++i) {
    ImageObject& o = tree_.objects[i];
    if (o.names || o.refused) continue;
    o.names = 1;
    const ObjectId parent = clones == 1 ? kRootObject : CloneSource::object_of(kRootObject, unsigned(o.id % clones), clones);
    tree_.names.push_back({.parent = parent, .name = ".fsreplay-" + std::to_string(o.id), .object = i, .placed = true});
    ++tree_.summary.placed_objects;
  }
}

// Orders the names breadth-first from the root. Leaves out those that can't be reached from there (a circle in a malicious
// trace).
void ImageBuilder::order_names() {
  std::vector<uint32_t> sorted(tree_.names.size());
  for (uint32_t i = 0; i < sorted.size(); ++i) sorted[i] = i;
  auto parent_of = [this](uint32_t i) { return tree_.names[i].parent; };
  std::stable_sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) { return parent_of(a) < parent_of(b); });
  std::vector<bool> reached(tree_.objects.size());
  std::vector<ObjectId> folders{kRootObject};
  std::vector<ImageName> ordered;
  ordered.reserve(sorted.size());
  reached[0] = true;
  for (size_t f = 0; f < folders.size(); ++f) {
    ObjectId folder = folders[f];
    auto it = std::lower_bound(sorted.begin(), sorted.end(), folder, [&](uint32_t i, ObjectId id) { return parent_of(i) < id; });
    for (; it != sorted.end() && parent_of(*it) == folder; ++it) {
      ImageName& name = tree_.names[*it];
      ImageObject& o = tree_.objects[name.object];
      if (o.refused) {
        ++tree_.summary.refused_special;
        continue;
      }
      name.link = reached[name.object];
      if (name.link && o.directory()) {
        ++tree_.summary.refused_names;
        continue;
      }
      reached[name.object] = true;
      if (o.directory()) folders.push_back(o.id);
      ordered.push_back(std::move(name));
    }
  }
  size_t left_out = 0;
  for (size_t i = 0; i < tree_.objects.size(); ++i) left_out += !reached[i] && !tree_.objects[i].refused;
  tree_.summary.refused_names += left_out;
  tree_.names = std::move(ordered);
}

// Returns `sum` + `bytes` * `clones`, at most 2^64-1, because the sizes that a trace names may add up to more.
static uint64_t add_bytes(uint64_t sum, uint64_t bytes, uint64_t clones) {
  uint64_t product, total;
  if (__builtin_mul_overflow(bytes, clones, &product) || __builtin_add_overflow(sum, product, &total)) return UINT64_MAX;
  return total;
}

void ImageTree::count() {
  ImageSummary& s = summary;
  uint64_t clones = options.clones.count();
  for (const ImageName& name : names) {
    const ImageObject& o = objects[name.object];
    if (name.link) {
      s.hard_links += clones;
      continue;
    }
    switch (o.type) {
      case S_IFDIR:
        s.directories += clones;
        break;
      case S_IFREG:
        s.files += clones;
        s.bytes = add_bytes(s.bytes, o.data_length(), clones);
        s.apparent = add_bytes(s.apparent, o.size(), clones);
        break;
      case S_IFLNK:
        s.symlinks += clones;
        break;
      default:
        s.special += clones;
    }
  }
  s.open_files = opens.size() * clones;
}

}  // namespace fsr
