// SPDX-License-Identifier: Apache-2.0
// Turns symbols into operations on an invented tree, so that their outcomes hold. A lookup that fails has a name that is not
// there. A create that fails has one that is. A read ends where its file ends.
//
// One Realiser is one run of the load, in a directory of its own. Runs share the tree and its numbers. Not thread-safe.
#pragma once

#include <array>
#include <list>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/listings.hpp"
#include "model/model.hpp"
#include "model/model_tree.hpp"
#include "model/recency.hpp"
#include "op_source.hpp"

namespace fsr {

// A thread of the load: the objects that it has touched and opened.
struct Actor {
  ThreadId thread = 0;
  Near near;
  Listings listings;
  std::vector<HandleId> handles;  // open, the one used last is the last
  ObjectId absent_in = kNoObject;
  uint64_t absent = 0;  // name that was looked up last and not found
  // Index 0: files; 1: directories. True: none of them that the thread uses, or any thread, is opened during the run.
  std::array<bool, 2> own_open_before{}, all_open_before{};
};

// An instance that was open before the run.
struct OpenBefore {
  HandleId handle = 0;
  ObjectId object = kNoObject;
  uint32_t flags = 0;
  ThreadId thread = 0;
};

// State that all runs share.
struct ModelWorld {
  ModelTree tree;
  HandleId handles = 0;  // so many were numbered
  std::vector<OpenBefore> open_before;
};

class Realiser {
 public:
  // `root`: the directory of this run. All must outlive this.
  Realiser(const LoadModel& model, ModelWorld& world, ObjectId root, uint64_t seed);

  // Fills in `op`, whose times and thread are set, and carries it out in the tree. Strings are copied to `arena`. `any_size`: a
  // file of another class of size will do. False: the tree has nothing that such an operation could have worked on; `op` is then
  // undefined.
  bool realise(const Symbol& symbol, Actor& actor, Op& op, Arena& arena, bool any_size = false);
  // A further run begins in the same directory, whose listings may make up as many entries as those of the first.
  void begin_run() { entries_left_ = most_entries(); }
  // True: an operation of another thread may make the symbol possible. It makes or removes an often used name, changes a lock, or
  // is in flight.
  bool may_come(const Symbol& symbol, Actor& actor, int64_t now);
  // True: the symbol requests a lock, and locks of others are in the way of its outcome, or missing for it.
  bool locks_differ(const Symbol& symbol, Actor& actor);
  // Notes that the operation uses its open instances until it ends, and when the locks that it changes are sure.
  void in_flight(const Op& op);
  // Returns when no operation in flight decides about the symbol's outcome any more. A release depends on those that use its open
  // instance, a lock on those that change locks. 0: now.
  int64_t ready_at(const Symbol& symbol, Actor& actor);
  // Lets the actor do without the open instance that the symbol releases, if other actors have it as well. Only the last of them
  // releases it. False: no other has it.
  bool leave(const Symbol& symbol, Actor& actor);
  // Returns when no operation in flight uses the open instance that close_one() will close. The process ends: it lets go of those
  // that others have and of which it locks no bytes.
  int64_t closes_at(Actor& actor);
  size_t to_close(const Actor& actor) const;  // operations that close_one() will make
  // Lets a process begin with the open instances of the one that started it.
  void inherit(const Actor& parent, Actor& child);
  // Returns directories that the actor has open.
  std::vector<ObjectId> open_directories(const Actor& actor) const;
  // Fills in the release of the actor's last open instance, or the flush that gives up its locks where others have the instance
  // as well. After closes_at(). False: there is none.
  bool close_one(Actor& actor, Op& op);

 private:
  struct Open {
    ObjectId object = kNoObject;
    uint64_t position = 0;
    uint32_t flags = 0;
    bool directory = false;
    size_t returned = 0;   // entries of the listing
    uint64_t changes = 0;  // of the directory, when it was listed
    int64_t busy = 0;      // ns; until then an operation that uses it is in flight
    std::list<HandleId>::iterator place;
    std::unordered_set<Actor*> holders;  // actors that have it in their handles
  };

  struct Hot {
    ObjectId object = kNoObject;  // object that has the name now
    uint64_t name = 0;
    bool told = false;  // an operation has shown whether it exists
  };
  // A name that does not exist. `directory`: kNoObject if there is none that fits.
  struct Slot {
    ObjectId directory = kNoObject;
    uint64_t name = 0;
  };

  // Each returns false as realise() does.
  using Part = bool(const Symbol& s, Actor& a, Op& op, Arena& arena);
  Part names, missing, existing, make, remove, rename, link, look_up, on_handle, on_object;
  bool open(const Symbol& s, Actor& a, Op& op);
  bool set_attributes(const Symbol& s, Op& op, Arena& arena);
  bool xattr(const Symbol& s, Op& op, Arena& arena);
  bool transfer(const Symbol& s, Op& op, uint64_t& position);
  void decide_end(const Symbol& s, const Op& op, ModelNode& n);
  uint64_t elsewhere(const Symbol& s, uint64_t size, uint64_t length);
  bool list(const Symbol& s, Actor& a, Op& op, Open& open, Arena& arena);
  bool lock(const Symbol& s, Actor& a, Op& op);
  ModelLock lock_of(const Symbol& s, const Actor& a, HandleId handle) const;
  bool serves(const Symbol& s, const Open& open) const;      // the symbol may use the open instance
  bool shares(Actor& a, const Open& open) const;             // the actor has it, and others as well
  bool locks_bytes(const Actor& a, const Open& open) const;  // as a process, of the open instance's file

  template <class Good>
  ObjectId pick(Reference reference, uint8_t type, Actor& actor, Good good);
  template <class Good>
  ObjectId pick_entry(Reference reference, uint8_t type, Actor& actor, Good good);
  template <class Good>
  ObjectId pick_file(const Symbol& s, uint8_t type, Actor& actor, Good good);  // of the symbol's class of size
  // `outside`: the directory is not in this one; kNoObject: any will do.
  ObjectId directory(Reference reference, Actor& actor, ObjectId outside = kNoObject);
  Slot slot(Reference parent, Actor& actor, ObjectId outside = kNoObject);
  bool may_change(Reference reference, ObjectId id) const;
  ObjectId hot_directory(size_t number) const;
  ObjectId assume(size_t number, uint8_t type);
  Hot* hot_name(ObjectId directory, uint64_t name);  // null: none is often used
  void named(ObjectId object);                       // an object has got its name, and what is in it its path
  void unnamed(ObjectId object);                     // an object has lost its first name, and what is in it its path
  void meet(ObjectId id, uint8_t type);              // a name of a listing gets its object
  ObjectId discover(Reference parent, uint8_t type, Actor& actor, uint64_t size);
  template <class Good>
  HandleId handle(uint8_t number, Actor& actor, Good good);
  void open_before(const Symbol& s, Actor& a);
  void opened(Actor& a, Op& op, ObjectId object, uint32_t flags, bool directory);
  void closed(HandleId handle);
  void hold(Actor& a, HandleId handle);
  void let_go(Actor& a, HandleId handle);
  // Ends locks of byte ranges of this owner, and all locks that were taken through this open instance. 0: none.
  void unlock(ObjectId object, uint64_t owner, HandleId handle);
  uint64_t most_entries() const { return std::min(kMostEntries, kMostPrepared + model_.operations); }  // of a run's listings
  uint64_t size_of(OpKind kind, uint8_t size_class);
  uint64_t size_for(const Symbol& s);
  const Attr* attributes(ObjectId object, Arena& arena);
  void touch(Actor& a, ObjectId object);
  std::string_view name(uint64_t number, Arena& arena);

  const LoadModel& model_;
  ModelWorld& world_;
  ModelTree& tree_;
  const ObjectId root_;
  Random random_;
  std::vector<Hot> hot_;
  std::map<std::pair<uint32_t, uint64_t>, size_t> hot_numbers_;  // by number of the directory, from 1, and name; 0: the root
  EvenDraw file_sizes_;
  uint64_t largest_read_ = 0;  // bytes
  uint64_t entries_left_;      // in this run, for listings to make up
  Recency recency_;
  bool root_touched_ = false;
  int64_t now_ = 0;        // start of the operation in hand
  bool any_size_ = false;  // of the operation in hand
  std::unordered_map<HandleId, Open> opens_;
  std::list<HandleId> all_opens_;  // the one opened last is the last
  // Offsets where transfers of a file and class of size began.
  struct Began {
    uint64_t last = 0;
    std::vector<uint64_t> list;  // different ones
    std::unordered_set<uint64_t> set;
  };
  std::map<std::pair<ObjectId, uint8_t>, Began> began_;
  std::unordered_map<ObjectId, uint64_t> positions_;  // of files that are used without an open instance
  std::map<std::pair<uint32_t, uint32_t>, EvenDraw> size_draws_;
};

}  // namespace fsr
