// SPDX-License-Identifier: Apache-2.0
// The invented tree that the operations of a model work on. Names are numbers, so that a name is never used twice. Objects that
// exist before the run are made up when an operation first needs them, where nothing has said that they are not there.
//
// Memory: about 80 bytes an object, removed ones included. Not thread-safe.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/symbol.hpp"
#include "op.hpp"

namespace fsr {

struct ModelLock {
  uint64_t owner = 0, offset = 0, length = 0;  // length 0: to the end
  HandleId handle = 0;                         // open instance through which it was taken
  bool exclusive = false, flock = false;
};

// The locks of a file that the run has locked.
struct ModelLocks {
  std::vector<ModelLock> held;
  bool replaced = false;         // the request in hand took the place of a lock of the same owner
  int64_t taken = 0, freed = 0;  // ns; until then an operation that takes a lock, or gives one up, is in flight
};

struct ModelDirectory {
  std::vector<ObjectId> children;                    // first names
  std::vector<std::pair<uint64_t, ObjectId>> links;  // further names
  std::vector<ObjectId> unseen;                      // names of a listing whose objects were not used yet
  uint64_t changes = 0;                              // names that came
  bool listed = false;                               // the run knows all names
};

struct ModelNode {
  ObjectId parent = kNoObject;
  uint64_t name = 0;
  uint64_t size = 0;
  uint32_t slot = 0;      // in the children of `parent`
  uint32_t initial = 0;   // number among the initial objects, if the run has not made it
  uint8_t type = 0;       // S_IFMT bits shifted by 12; 0: not decided
  uint8_t xattrs = 0;     // bits by number of the attribute
  uint16_t hot = 0;       // number of the often used name that the object has, from 1
  uint16_t was_hot = 0;   // that name, or the last such name that it had
  bool linked = false;    // has a name
  bool made = false;      // made by the run
  bool open_end = false;  // file that existed: no operation depends on its size yet, so that a read may still decide it
  int64_t busy = 0;       // ns; until then an operation that makes or moves it is in flight, and no other one finds it
  uint64_t seen = 0;      // bytes of it that were read
  std::unique_ptr<ModelDirectory> directory;
  std::unique_ptr<std::vector<std::pair<ObjectId, uint64_t>>> links;  // further names: directory and name
  std::unique_ptr<ModelLocks> locks;
};

constexpr std::string_view kModelTarget = "target";  // of all symlinks of an invented tree

// Type and permissions of an object of this type, S_IFMT bits shifted by 12.
inline uint32_t initial_mode(uint32_t type) {
  return type << 12 | (type == kDirectoryType ? 0755u : type == kSymlinkType ? 0777u : 0644u);
}

// An object that exists before the run, as it is then.
struct InitialObject {
  ObjectId id = kNoObject, parent = kNoObject;
  uint64_t name = 0, size = 0;
};

class ModelTree {
 public:
  ModelTree();
  ModelNode& node(ObjectId id) { return nodes_[id]; }
  const ModelNode& node(ObjectId id) const { return nodes_[id]; }
  uint64_t new_name() { return ++names_; }
  static std::string text(uint64_t name);  // "n17"

  ObjectId add(uint8_t type, ObjectId parent, uint64_t name, bool made);
  ObjectId add_nameless(uint8_t type);
  // Gives an unlisted directory names up to `count`, and returns all of its names.
  std::vector<std::pair<uint64_t, ObjectId>> list(ObjectId directory, uint64_t count);
  // True: an object may be there that existed before the run and was not used yet.
  bool may_hold_more(ObjectId directory) const;
  // True: such an object with any name may be there.
  bool may_hold_unlisted(ObjectId directory) const;
  // Returns an object that existed before the run, in `directory`, which may hold more.
  ObjectId discover(ObjectId directory, uint8_t type);
  void decide(ObjectId id, uint8_t type);  // of a name of a listing
  void set_initial_size(ObjectId id, uint64_t size);
  const std::vector<InitialObject>& initial() const { return initial_; }  // directories come before what is in them
  bool is_empty(ObjectId id) const;                      // also an entry of a listing whose type is not decided yet
  bool is_below(ObjectId id, ObjectId directory) const;  // or the directory itself
  // Removes the first name of the object, and returns it. A further name takes its place.
  std::pair<ObjectId, uint64_t> remove_name(ObjectId id);
  void add_link(ObjectId id, ObjectId parent, uint64_t name);
  void move(ObjectId id, ObjectId parent, uint64_t name);

 private:
  void attach(ObjectId id, ObjectId parent, uint64_t name);
  void detach(ObjectId id);
  std::deque<ModelNode> nodes_;  // by id; the first is unused
  std::vector<InitialObject> initial_;
  uint64_t names_ = 0;
};

}  // namespace fsr
