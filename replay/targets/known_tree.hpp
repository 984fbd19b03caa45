// SPDX-License-Identifier: Apache-2.0
// What a client knows of the tree on a server that names files by where they are: each object's names, what is open, and the
// hidden names of files that lost theirs while they were open.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "op.hpp"
#include "targets/retry_waits.hpp"

namespace fsr {

// Protocols derive from it.
struct KnownObject {
  struct Name {
    ObjectId parent;
    std::string name;
  };
  std::vector<Name> names;  // those we know of, the latest last
  uint32_t opens = 0;
  HandleId last_open = 0;
  bool hidden = false;  // its only name is one of ours, until its last release
};

// Object derives from KnownObject; Open has a member `object`.
template <class Object, class Open>
class KnownTree {
 public:
  explicit KnownTree(const char* hidden_prefix) {
    std::random_device random;
    char prefix[32];
    snprintf(prefix, sizeof prefix, "%s%08x%08x.", hidden_prefix, random(), random());
    hidden_prefix_ = prefix;
  }

  uint64_t moves = 0;  // renames begun and ended
  bool moved_since(uint64_t then) const { return moves != then || renaming_ > 0; }
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
  // Ends the open instance; what it holds is the caller's. False: no such.
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
    forget_places(id);
    forget_if_unused(id);
  }
  // As unlinked(), by another process; what is below a directory is no longer where it was.
  void taken_away(ObjectId id, ObjectId parent, std::string_view name) {
    ++moves;
    if (Object* o = object(id); o && o->is_dir()) directory_moved();
    unlinked(id, parent, name);
  }
  void begin_rename() { ++moves, ++renaming_; }
  void end_rename(const Op& op, bool done) {
    ++moves;
    --renaming_;
    if (!done) return;
    if (op.flags & RENAME_EXCHANGE) return exchanged(op);
    Object* o = object(op.object);
    if (op.object2 != op.object || op.object == kNoObject) unlinked(op.object2, op.parent2, op.name2);
    if (!o || o->is_dir()) directory_moved();
    if (!o) return;
    std::erase_if(o->names, [&](const auto& n) { return n.parent == op.parent && n.name == op.name; });
    forget_places(op.object);
    o->names.push_back({op.parent2, std::string(op.name2)});
  }

  std::string hidden_name() { return hidden_prefix_ + std::to_string(hidden_names_++); }    // fresh
  bool is_hidden(std::string_view name) const { return name.starts_with(hidden_prefix_); }  // one of those
  void hid(ObjectId id, ObjectId parent, std::string name) {
    Object* o = object(id);
    if (!o) return;
    o->names.clear();
    o->names.push_back({parent, std::move(name)});
    o->hidden = true;
    forget_places(id);
  }
  bool is_hidden_object(ObjectId id) {
    const Object* o = object(id);
    return o && o->hidden;
  }
  // An open file that is about to lose its only name.
  bool would_be_nameless(ObjectId id) {
    const Object* o = object(id);
    return o && o->opens > 0 && o->names.size() <= 1 && !o->hidden && !o->is_dir();
  }
  // After a release: the hidden name of what nobody uses any more, which is forgotten.
  std::optional<KnownObject::Name> take_unused_hidden(ObjectId id) {
    const Object* o = object(id);
    if (!o || !o->hidden || o->opens > 0) return std::nullopt;
    const KnownObject::Name name = o->names.back();
    unlinked(id, name.parent, name.name);
    return name;
  }
  // The hidden names in a directory, forgotten: what is open there is nameless from now on.
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

 protected:
  ~KnownTree() = default;
  virtual void forget_places(ObjectId) {}  // the object is no longer where it was
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
  static constexpr size_t kMostKnownNames = 8;

  void exchanged(const Op& op) {
    directory_moved();
    auto moved = [&](ObjectId id, ObjectId from, std::string_view name, ObjectId to, std::string_view name2) {
      Object* o = object(id);
      if (!o) return;
      std::erase_if(o->names, [&](const auto& n) { return n.parent == from && n.name == name; });
      o->names.push_back({to, std::string(name2)});
      forget_places(id);
    };
    moved(op.object, op.parent, op.name, op.parent2, op.name2);
    moved(op.object2, op.parent2, op.name2, op.parent, op.name);
  }
  void forget_if_unused(ObjectId id) {
    auto it = objects_.find(id);
    if (it == objects_.end() || !it->second.names.empty() || it->second.opens > 0) return;
    forget_places(id);
    objects_.erase(it);
  }

  std::unordered_map<ObjectId, Object> objects_;
  std::unordered_map<HandleId, Open> opens_;
  unsigned renaming_ = 0;
  std::string hidden_prefix_;  // tells this run's from another's
  uint64_t hidden_names_ = 0;
};

}  // namespace fsr
