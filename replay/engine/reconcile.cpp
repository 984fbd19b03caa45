// SPDX-License-Identifier: Apache-2.0
#include "engine/reconcile.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/prepare.hpp"
#include "engine/tree_remover.hpp"
#include "plan/clones.hpp"
#include "targets/blocking_session.hpp"

namespace fsr {

namespace {

class Reconciler {
 public:
  Reconciler(const ImageTree& tree, Target& target, Clock& clock, RemovablePolicy ours, ObjectSet& known)
      : tree_(tree),
        session_(target, clock),
        ours_(ours),
        known_(known),
        removal_(target, session_, tree.spare_object(1 << 20), tree.spare_handle(1ull << 32),
                 [ours](std::string_view name) { return ours.removable(name); }) {}

  ReconcileResult run() {
    out_.present.resize((tree_.names.size() + 1) * tree_.options.clones.all);
    for (uint32_t i = 0; i < tree_.names.size(); ++i) children_[tree_.names[i].parent].push_back(i);
    if (tree_.options.clones.all == 1) {
      directory(kRootObject, 0, true);
    } else {
      clone_roots();
    }
    out_.failed = removal_.failed;
    out_.first_failed = removal_.first_failed;
    out_.first_error = removal_.first_error;
    return std::move(out_);
  }

 private:
  void clone_roots() {
    const CloneNumbers clones = tree_.options.clones;
    for (const std::string& name : removal_.list(kRootObject)) {
      bool wanted = name == kMarkerName;
      for (unsigned n = 0; n < clones.all && !wanted; ++n) {
        if (name != clone_directory(n)) continue;
        wanted = true;
        if (n % clones.step != clones.first) break;
        ObjectId root = tree_.object_id(kRootObject, n);
        look_up(root, kRootObject, name, name);
        out_.present[clones.all * tree_.names.size() + n] = true;
        known_.insert(root);
        directory(root, n, false);
      }
      if (!wanted && clones.first == 0 && ours_.removable(name)) removal_.remove(kRootObject, name, name);
    }
  }

  void directory(ObjectId root, unsigned clone, bool has_marker) {
    struct Folder {
      ObjectId recorded, object;
      std::string path;  // ends in a slash, unless it is empty
    };
    std::vector<Folder> todo{{kRootObject, root, has_marker ? "" : clone_directory(clone) + "/"}};
    for (size_t f = 0; f < todo.size(); ++f) {
      Folder folder = todo[f];
      std::unordered_map<std::string_view, uint32_t> wanted;
      if (auto found = children_.find(folder.recorded); found != children_.end())
        for (uint32_t i : found->second) wanted.emplace(tree_.names[i].name, i);
      // Names in the root of a target may belong to others.
      const bool ours = ours_.everything || f > 0 || !has_marker;
      for (const std::string& name : removal_.list(folder.object)) {
        if (f == 0 && has_marker && name == kMarkerName) continue;
        const std::string path = folder.path + name;
        auto in_image = wanted.find(name);
        if (in_image == wanted.end()) {
          if (ours && ours_.removable(name)) removal_.remove(folder.object, name, path);
          continue;
        }
        const ImageObject& o = tree_.objects[tree_.names[in_image->second].object];
        ObjectId object = tree_.object_id(o.id, clone);
        const Outcome seen = look_up(object, folder.object, name, path);
        if (!right(o, object, seen)) {
          if (ours && ours_.removable(name)) remove(object, seen, folder.object, name, path);
          continue;
        }
        known_.insert(object);
        if (o.names > 1) kept_links_[object] = {folder.object, name};
        out_.present[clone * tree_.names.size() + in_image->second] = true;
        ++out_.kept;
        if (o.directory()) todo.push_back({o.id, object, path + "/"});
      }
    }
  }

  Outcome look_up(ObjectId object, ObjectId parent, const std::string& name, const std::string& path) {
    const Outcome& seen = session_.perform({.kind = OpKind::lookup, .object = object, .parent = parent, .name = name});
    if (seen.error == EXDEV) removal_.refuse(path);
    return seen;
  }

  // Removes what `seen` shows under the name of `object`, so that the target also forgets that the object has this name.
  void remove(ObjectId object, const Outcome& seen, ObjectId parent, const std::string& name, const std::string& path) {
    if (seen.error || S_ISDIR(seen.attr.mode)) return removal_.remove(parent, name, path);
    removal_.remove_file(object, parent, name, path);
    // The lookup may have made the target take another file for this object, of which a name is kept.
    if (const auto kept = kept_links_.find(object); kept != kept_links_.end())
      session_.perform({.kind = OpKind::lookup, .object = object, .parent = kept->second.parent, .name = kept->second.name});
  }

  // True: the target's object, of which `seen` tells, can be used as the image's object `o`.
  bool right(const ImageObject& o, ObjectId object, const Outcome& seen) {
    if (seen.error || (seen.attr.mode & S_IFMT) != o.type) return false;
    if (o.directory()) return !(ours_.everything && o.reshaped) && restored(o, object, seen.attr);
    if (!ours_.any() || o.reshaped) return false;
    if (o.type == S_IFLNK) {
      const Outcome& link = session_.perform({.kind = OpKind::readlink, .object = object});
      return !link.error && (o.target.empty() || link.data == o.target);
    }
    // Captured content and xattrs are always written again, because comparing them would take as long.
    return seen.attr.size == o.size() && o.extents.empty() && o.xattrs.empty() && o.names == seen.attr.nlink &&
           (!(o.attr.valid & kAttrMode) || (seen.attr.mode & 07777) == (o.attr.mode & 07777)) && owned(o, seen.attr);
  }

  // True: owner and group are those of the image, or do not matter.
  bool owned(const ImageObject& o, const Attr& seen) const {
    constexpr uint32_t kBoth = kAttrUid | kAttrGid;
    if (!tree_.options.owners || (o.attr.valid & kBoth) != kBoth) return true;
    return seen.uid == o.attr.uid && seen.gid == o.attr.gid;
  }

  // Gives a directory back the attributes of the image, but for what would forbid to change the files in it; ImageSeal does the
  // rest. True: it has them.
  bool restored(const ImageObject& o, ObjectId object, const Attr& seen) {
    if (!ours_.everything) return true;
    Attr set = image_attributes(tree_, o);
    set.mode |= 0700;
    if ((seen.mode & 07777) == set.mode && owned(o, seen)) return true;
    // A file system without modes or owners refuses; then there is nothing to restore.
    const int error = session_.perform({.kind = OpKind::setattr, .object = object, .set = &set}).error;
    return error == 0 || error == EPERM || error == EOPNOTSUPP || error == EINVAL;
  }

  const ImageTree& tree_;
  BlockingSession session_;
  RemovablePolicy ours_;
  ObjectSet& known_;
  TreeRemover removal_;
  std::unordered_map<ObjectId, std::vector<uint32_t>> children_;
  struct Kept {
    ObjectId parent;
    std::string name;
  };
  std::unordered_map<ObjectId, Kept> kept_links_;  // a name that is kept, of each file with several
  ReconcileResult out_;
};

}  // namespace

ReconcileResult reconcile(const ImageTree& tree, Target& target, Clock& clock, RemovablePolicy ours, ObjectSet& known) {
  refuse_mounts(target, [&](std::string_view name) { return ours.removable(name); });
  return Reconciler(tree, target, clock, ours, known).run();
}

}  // namespace fsr
