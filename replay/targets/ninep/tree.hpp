// SPDX-License-Identifier: Apache-2.0
// What is known of the server's tree: by which names an object is reached, which fid leads to it, what is open, what is locked.
// Belongs to the client's mutex, like all that refers to fids.
//
// Servers may keep a file's path behind a fid instead of the file itself (diod does), so that a fid that was walked to below a
// directory says nothing after that directory was renamed. Fids carry the epoch of their walk, and a directory's rename begins a
// new one: older fids are walked to again. An object whose last name is gone is reached by what has it open, as on a Linux mount.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "targets/dir_cursor.hpp"
#include "targets/memory/lock_table.hpp"
#include "targets/ninep/client.hpp"
#include "targets/retry_waits.hpp"

namespace fsr::ninep {

// An open directory: the part of its listing that the server has sent and no operation has taken yet.
struct Listing {
  struct Kept {
    std::string name;
    uint64_t ino, cursor;  // cursor: where the next one begins
    uint32_t type;
  };
  DirCursor cursor;  // from recorded cursors to ours: 9P2000.L's offsets, elsewhere the number of the entry
  std::vector<Kept> kept;
  size_t taken = 0;         // of kept
  uint64_t position = 0;    // the cursor of what comes next
  bool eof = false;         // nothing follows `kept`
  uint64_t read_bytes = 0;  // 9P2000 and .u: where the next Tread begins, and how many entries came before
  uint64_t read_entries = 0;

  void restart(uint64_t at) {
    kept.clear();
    taken = 0;
    position = at;
    eof = false;
    read_bytes = read_entries = 0;
  }
};

struct Open {
  ObjectId object = kNoObject;
  FidRef fid;
  uint32_t flags = 0;  // O_*
  uint32_t uid = 0;
  bool flocked = false;
  std::shared_ptr<Listing> listing;
};

struct Object {
  struct Name {
    ObjectId parent;
    std::string name;
  };
  std::vector<Name> names;  // those we know of, the latest last
  bool type_known = false;
  uint8_t qid_type = 0;
  uint32_t opens = 0;
  HandleId last_open = 0;
  bool hidden = false;  // its only name is one of ours, until its last release
  // Conflicts among the replayed owners are decided here, as a Linux client does before it asks the server. One fid stands for
  // all of them there: servers that make one lock of a file would otherwise have them exclude each other.
  struct Locks {
    LockTable table;
    FidRef fid;
  };
  std::unique_ptr<Locks> locks;
  // Appends under way: each goes to where the file ends, behind what others of ours already took.
  uint32_t appends = 0;
  uint64_t append_end = 0;

  bool is_dir() const { return !type_known || (qid_type & kQidDir); }
};

class Tree {
 public:
  explicit Tree(Client& client);

  bool has_renameat = true, has_unlinkat = true;  // until the server says otherwise
  uint64_t moves = 0;                             // renames begun and ended
  bool moved_since(uint64_t then) const { return moves != then || renaming_ > 0; }

  // A fid of the object, not open; of one without a name an open one, if that will do. ESTALE: nothing taught it.
  Task find(Call& call, ObjectId object, FidRef* found, bool open_will_do = false);
  Task find_dir(Call& call, ObjectId object, FidRef* found);  // ENOTDIR
  // The open instance; opened again if its connection is gone. EBADF.
  Task find_open(Call& call, HandleId handle, Open* found);

  Object* object(ObjectId id);
  Open* open(HandleId id);
  // Found or made: `fid` is not open, or nothing.
  void teach(ObjectId id, ObjectId parent, std::string_view name, uint8_t qid_type, uint32_t uid, FidRef fid = nullptr);
  void add_open(HandleId handle, Open open);
  // Ends the open instance; its fid is the caller's. False: no such.
  bool take_open(HandleId handle, Open* taken);
  void unlinked(ObjectId id, ObjectId parent, std::string_view name);
  // Some servers (diod 1.0) can't tell the attributes of an open file that has no name. There, one that loses its last name while
  // it is open gets a hidden one in the root until its last release. Found out with a file of our own when first needed.
  enum class Knows : uint8_t { unasked, yes, no } stats_nameless = Knows::unasked;
  bool must_hide(ObjectId id);
  std::string hidden_name();                    // fresh
  bool is_hidden(std::string_view name) const;  // one of those
  void hid(ObjectId id, std::string name);
  bool is_hidden_object(ObjectId id) {
    const Object* o = object(id);
    return o && o->hidden;
  }
  std::vector<std::string> left_hidden() const;
  void begin_rename() { ++moves, ++renaming_; }
  void end_rename(const Op& op, bool done);
  void forget_fids(ObjectId id);

  RetryWaits lock_waits;

 private:
  struct Key {
    ObjectId object;
    uint32_t uid;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const { return (k.object * 0x9e3779b97f4a7c15u) ^ k.uid; }
  };
  struct Cached {
    Key key;
    FidRef fid;
  };

  Task walk_to(Call& call, ObjectId id, const Object::Name& name, FidRef* found);
  FidRef cached(ObjectId id, uint32_t uid);
  void keep(ObjectId id, uint32_t uid, FidRef fid);
  void forget_if_unused(ObjectId id);

  Client& client_;
  std::unordered_map<ObjectId, Object> objects_;
  std::unordered_map<HandleId, Open> opens_;
  std::list<Cached> fids_;  // the latest used first
  std::unordered_map<Key, std::list<Cached>::iterator, KeyHash> by_object_;
  unsigned renaming_ = 0;
  std::string hidden_prefix_;  // tells this run's from another's
  uint64_t hidden_names_ = 0;
};

}  // namespace fsr::ninep
