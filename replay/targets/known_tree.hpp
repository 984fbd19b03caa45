// SPDX-License-Identifier: Apache-2.0
// A client's knowledge of the tree on a server whose protocol addresses files by their paths. It has each object's names, the
// open instances, and the hidden names of files that lost their last name while they were open.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "op.hpp"
#include "targets/retry_waits.hpp"

namespace fsr {

// An object of the tree. Protocols derive their own type from it.
struct KnownObject {
  struct Name {
    ObjectId parent;
    std::string name;
  };
  std::vector<Name> names;  // known names, the latest last
  uint32_t opens = 0;
  HandleId last_open = 0;
  bool hidden = false;  // its only name is a hidden one, until its last release
};

// `Object` derives from KnownObject; `Open` has a member `object`.
template <class Object, class Open>
class KnownTree {
 public:
  explicit KnownTree(const char* hidden_prefix) {
    std::random_device random;
    char prefix[32];
    snprintf(prefix, sizeof prefix, "%s%08x%08x.", hidden_prefix, random(), random());
    hidden_prefix_ = prefix;
  }

  uint64_t moves() const { return moves_; }  // objects that were moved, or whose names another process took away
  // True if another operation has moved an object that `op` names, or a directory above it, since there were `then` moves, or is
  // about to. Also true if that is not known.
  bool moved_since(uint64_t then, const Op& op) const {
    const auto concerns = [&](ObjectId moved) {
      if (moved == kNoObject) return true;
      const auto it = opens_.find(op.handle);
      return is_at_or_below(op.object, moved) || is_at_or_below(op.parent, moved) || is_at_or_below(op.parent2, moved) ||
             (it != opens_.end() && is_at_or_below(it->second.object, moved));
    };
    if (moves_ - then > moved_.size()) return true;
    return std::any_of(moved_.end() - ptrdiff_t(moves_ - then), moved_.end(), concerns) ||
           std::any_of(renaming_.begin(), renaming_.end(),
                       [&](const Op* rename) { return rename != &op && concerns(rename->object); });
  }
  RetryWaits lock_waits;

  Object* object(ObjectId id) {
    auto it = objects_.find(id);
    return it == objects_.end() ? nullptr : &it->second;
  }
  Open* open(HandleId id) {
    auto it = opens_.find(id);
    return it == opens_.end() ? nullptr : &it->second;
  }

  void add_open(HandleId handle, Open opened) {
    if (handle == 0) return;
    auto [it, added] = opens_.insert_or_assign(handle, std::move(opened));
    if (it->second.object == kNoObject) return;
    Object& o = objects_[it->second.object];
    if (added) ++o.opens;
    o.last_open = handle;
  }
  // Removes the open instance and moves it to *taken, whose resources the caller then owns. False: there is no such handle.
  bool take_open(HandleId handle, Open* taken) {
    auto it = opens_.find(handle);
    if (it == opens_.end()) return false;
    *taken = std::move(it->second);
    opens_.erase(it);
    if (Object* o = object(taken->object)) {
      if (o->opens > 0) --o->opens;
      forget_if_unused(taken->object);
    }
    return true;
  }

  void unlinked(ObjectId id, ObjectId parent, std::string_view name) {
    Object* o = object(id);
    if (!o) return;
    std::erase_if(o->names, [&](const auto& n) { return n.parent == parent && n.name == name; });
    forget_paths(id);
    forget_if_unused(id);
  }
  // Does the same as unlinked() for a name that another process removed. If it is a directory's, all paths below it may have
  // changed.
  void taken_away(ObjectId id, ObjectId parent, std::string_view name) {
    moved(id);
    if (Object* o = object(id); o && o->is_dir()) directory_moved();
    unlinked(id, parent, name);
  }
  void begin_rename(const Op& op) { renaming_.push_back(&op); }  // `op` stays valid until its end_rename()
  void end_rename(const Op& op, bool done) {
    std::erase(renaming_, &op);
    if (!done) return;
    moved(op.object);
    if (op.flags & RENAME_EXCHANGE) moved(op.object2);
    if (op.object != kNoObject && op.object == op.object2) return;  // two links of one file: rename(2) does nothing
    if (op.flags & RENAME_EXCHANGE) return exchanged(op);
    Object* o = object(op.object);
    unlinked(op.object2, op.parent2, op.name2);
    if (!o || o->is_dir()) directory_moved();
    if (!o) return;
    std::erase_if(o->names, [&](const auto& n) { return n.parent == op.parent && n.name == op.name; });
    forget_paths(op.object);
    o->names.push_back({op.parent2, std::string(op.name2)});
  }

  std::string hidden_name() { return hidden_prefix_ + std::to_string(hidden_names_++); }    // a new one
  bool is_hidden(std::string_view name) const { return name.starts_with(hidden_prefix_); }  // true: hidden_name() returned it
  void hid(ObjectId id, ObjectId parent, std::string name) {
    Object* o = object(id);
    if (!o) return;
    o->names.clear();
    o->names.push_back({parent, std::move(name)});
    o->hidden = true;
    forget_paths(id);
  }
  bool is_hidden_object(ObjectId id) {
    const Object* o = object(id);
    return o && o->hidden;
  }
  // True: the object is an open file that has only one name left, and would be unreachable without it.
  bool would_be_nameless(ObjectId id) {
    const Object* o = object(id);
    return o && o->opens > 0 && o->names.size() <= 1 && !o->hidden && !o->is_dir();
  }
  // Called after a release: returns the hidden name of a file that is no longer open, and forgets the name. None: the file is
  // still open or has no hidden name.
  std::optional<KnownObject::Name> take_unused_hidden(ObjectId id) {
    const Object* o = object(id);
    if (!o || !o->hidden || o->opens > 0) return std::nullopt;
    const KnownObject::Name name = o->names.back();
    unlinked(id, name.parent, name.name);
    return name;
  }
  // Returns the hidden names in a directory and forgets them. Their open files have no name from now on.
  std::vector<std::string> give_up_hidden(ObjectId parent) {
    std::vector<std::string> names;
    std::vector<ObjectId> nameless;
    for (auto& [id, o] : objects_)
      if (o.hidden && !o.names.empty() && o.names.back().parent == parent) nameless.push_back(id);
    for (ObjectId id : nameless) {
      names.push_back(object(id)->names.back().name);
      unlinked(id, parent, names.back());
      if (Object* o = object(id)) o->hidden = false;
    }
    return names;
  }

  std::vector<HandleId> hidden_opens() {
    std::vector<HandleId> handles;
    for (const auto& [handle, opened] : opens_)
      if (is_hidden_object(opened.object)) handles.push_back(handle);
    return handles;
  }

  void each_object(const auto& visit) const {
    for (const auto& [id, o] : objects_) visit(id, o);
  }

 protected:
  ~KnownTree() = default;
  virtual void forget_paths(ObjectId) {}  // called if the object lost a name or moved
  virtual void directory_moved() {}

  Object& add_name(ObjectId id, ObjectId parent, std::string_view name) {
    Object& o = objects_[id];
    auto it = std::find_if(o.names.begin(), o.names.end(), [&](const auto& n) { return n.parent == parent && n.name == name; });
    if (it != o.names.end()) {
      std::rotate(it, it + 1, o.names.end());
    } else {
      if (o.names.size() >= kMostKnownNames) o.names.erase(o.names.begin());
      o.names.push_back({parent, std::string(name)});
    }
    return o;
  }

 private:
  // Names kept for an object. If all of them are removed and it has others, its id leads nowhere. Overlay mounts give one
  // whiteout dozens of names.
  static constexpr size_t kMostKnownNames = 256;

  static constexpr size_t kMostMoves = 256;          // remembered
  static constexpr unsigned kDeepestPath = 1 << 12;  // directories, as far as a path is followed upwards

  void moved(ObjectId id) {
    ++moves_;
    if (moved_.size() == kMostMoves) moved_.pop_front();
    moved_.push_back(id);
  }
  bool is_at_or_below(ObjectId id, ObjectId directory) const {
    for (unsigned depth = 0; id != kNoObject && depth < kDeepestPath; ++depth) {
      if (id == directory) return true;
      const auto it = objects_.find(id);
      if (it == objects_.end() || it->second.names.empty()) return false;
      const auto& names = it->second.names;
      if (std::any_of(names.begin(), names.end(), [&](const auto& n) { return n.parent == directory; })) return true;
      id = names.back().parent;
    }
    return false;
  }
  void exchanged(const Op& op) {
    directory_moved();
    auto renamed = [&](ObjectId id, ObjectId from, std::string_view name, ObjectId to, std::string_view name2) {
      Object* o = object(id);
      if (!o) return;
      std::erase_if(o->names, [&](const auto& n) { return n.parent == from && n.name == name; });
      o->names.push_back({to, std::string(name2)});
      forget_paths(id);
    };
    renamed(op.object, op.parent, op.name, op.parent2, op.name2);
    renamed(op.object2, op.parent2, op.name2, op.parent, op.name);
  }
  void forget_if_unused(ObjectId id) {
    auto it = objects_.find(id);
    if (it == objects_.end() || !it->second.names.empty() || it->second.opens > 0) return;
    forget_paths(id);
    objects_.erase(it);
  }

  std::unordered_map<ObjectId, Object> objects_;
  std::unordered_map<HandleId, Open> opens_;
  uint64_t moves_ = 0;
  std::deque<ObjectId> moved_;       // objects, the latest last
  std::vector<const Op*> renaming_;  // renames in flight
  std::string hidden_prefix_;        // includes random digits, which differ from run to run
  uint64_t hidden_names_ = 0;
};

}  // namespace fsr
