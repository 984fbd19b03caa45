// SPDX-License-Identifier: Apache-2.0
#include "engine/reconcile.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "engine/prepare.hpp"
#include "plan/clones.hpp"
#include "targets/blocking_session.hpp"

namespace fsr {

namespace {

struct Entry {
  std::string name;
  uint32_t type = 0;
};

class Reconciler {
 public:
  Reconciler(const ImageTree& tree, Target& target, Clock& clock, Ours ours, ObjectSet& known)
      : tree_(tree),
        session_(target, clock),
        ours_(ours),
        known_(known),
        next_(tree.spare_object(1 << 20)),
        handle_(tree.spare_handle(1ull << 32)) {}

  Reconciled run() {
    out_.present.resize(tree_.names.size() * tree_.options.clones);
    for (uint32_t i = 0; i < tree_.names.size(); ++i) children_[tree_.names[i].parent].push_back(i);
    if (tree_.options.clones == 1) {
      directory(kRootObject, 0, true);
    } else {
      clone_roots();
    }
    return std::move(out_);
  }

 private:
  std::vector<Entry> list(ObjectId object) {
    std::vector<Entry> entries;
    HandleId handle = handle_++;
    if (session_.perform({.kind = OpKind::opendir, .object = object, .handle = handle}).error) return entries;
    for (uint64_t cursor = 0;;) {
      const Outcome& o =
          session_.perform({.kind = OpKind::readdir, .object = object, .handle = handle, .offset = cursor, .length = 65536});
      if (o.error || o.entries.empty()) break;
      for (const DirEntry& e : o.entries)
        if (valid_component(e.name)) entries.push_back({std::string(e.name), e.type});
      cursor += o.entries.size();
    }
    session_.perform({.kind = OpKind::releasedir, .object = object, .handle = handle});
    return entries;
  }

  void clone_roots() {
    for (const Entry& e : list(kRootObject)) {
      bool wanted = e.name == kMarkerName;
      for (unsigned n = 0; n < tree_.options.clones && !wanted; ++n) {
        if (e.name != clone_directory(n)) continue;
        wanted = true;
        ObjectId root = tree_.object_id(kRootObject, n);
        session_.perform({.kind = OpKind::lookup, .object = root, .parent = kRootObject, .name = e.name});
        known_.insert(root);
        directory(root, n, false);
      }
      if (!wanted && ours_.removable(e.name)) remove(kRootObject, e);
    }
  }

  void directory(ObjectId root, unsigned clone, bool has_marker) {
    struct Folder {
      ObjectId recorded, object;
    };
    std::vector<Folder> todo{{kRootObject, root}};
    for (size_t f = 0; f < todo.size(); ++f) {
      Folder folder = todo[f];
      std::unordered_map<std::string_view, uint32_t> wanted;
      if (auto found = children_.find(folder.recorded); found != children_.end())
        for (uint32_t i : found->second) wanted.emplace(tree_.names[i].name, i);
      // In the root of a target, names are everybody's.
      const bool ours = ours_.everything || f > 0 || !has_marker;
      for (const Entry& e : list(folder.object)) {
        if (f == 0 && has_marker && e.name == kMarkerName) continue;
        auto name = wanted.find(e.name);
        if (name == wanted.end()) {
          if (ours && ours_.removable(e.name)) remove(folder.object, e);
          continue;
        }
        const ImageObject& o = tree_.objects[tree_.names[name->second].object];
        ObjectId object = tree_.object_id(o.id, clone);
        if (!right(o, object, folder.object, e)) {
          if (ours && ours_.removable(e.name)) remove(folder.object, e);
          continue;
        }
        known_.insert(object);
        out_.present[clone * tree_.names.size() + name->second] = true;
        ++out_.kept;
        if (o.directory()) todo.push_back({o.id, object});
      }
    }
  }

  // Whether the target's object can stand for the image's.
  bool right(const ImageObject& o, ObjectId object, ObjectId parent, const Entry& e) {
    Outcome seen = session_.perform({.kind = OpKind::lookup, .object = object, .parent = parent, .name = e.name});
    if (seen.error || (seen.attr.mode & S_IFMT) != o.type) return false;
    if (o.directory()) return true;
    if (!ours_.any()) return false;
    if (o.type == S_IFLNK) {
      const Outcome& link = session_.perform({.kind = OpKind::readlink, .object = object});
      return !link.error && (o.target.empty() || link.data == o.target);
    }
    // Captured content is written again: comparing it would take as long. So are xattrs.
    return seen.attr.size == o.size() && o.extents.empty() && o.xattrs.empty() && o.names == seen.attr.nlink &&
           (!(o.attr.valid & kAttrMode) || (seen.attr.mode & 07777) == (o.attr.mode & 07777));
  }

  void remove(ObjectId parent, const Entry& e) {
    struct Folder {
      ObjectId object, parent;
      std::string name;
    };
    std::vector<Folder> folders;
    auto one = [&](ObjectId in, const std::string& name) {
      ObjectId object = next_++;
      Outcome seen = session_.perform({.kind = OpKind::lookup, .object = object, .parent = in, .name = name});
      if (seen.error) return;
      if (S_ISDIR(seen.attr.mode))
        folders.push_back({object, in, name});
      else
        session_.perform({.kind = OpKind::unlink, .object = object, .parent = in, .name = name});
      ++out_.removed;
    };
    one(parent, e.name);
    for (size_t i = 0; i < folders.size(); ++i) {
      ObjectId object = folders[i].object;
      for (const Entry& child : list(object))
        if (ours_.removable(child.name)) one(object, child.name);
    }
    for (size_t i = folders.size(); i-- > 0;)
      session_.perform(
          {.kind = OpKind::rmdir, .object = folders[i].object, .parent = folders[i].parent, .name = folders[i].name});
  }

  const ImageTree& tree_;
  BlockingSession session_;
  Ours ours_;
  ObjectSet& known_;
  ObjectId next_;
  HandleId handle_;
  std::unordered_map<ObjectId, std::vector<uint32_t>> children_;
  Reconciled out_;
};

}  // namespace

Reconciled reconcile(const ImageTree& tree, Target& target, Clock& clock, Ours ours, ObjectSet& known) {
  return Reconciler(tree, target, clock, ours, known).run();
}

}  // namespace fsr
