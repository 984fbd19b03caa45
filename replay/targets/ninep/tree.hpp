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
#include <unordered_set>
#include <vector>

#include "base/lock_table.hpp"
#include "targets/dir_cursor.hpp"
#include "targets/known_tree.hpp"
#include "targets/listing_progress.hpp"
#include "targets/ninep/client.hpp"

namespace fsr::ninep {

struct Call;

// An open directory: the part of its listing that the server has sent and no operation has taken yet.
struct Listing {
  struct BufferedEntry {
    std::string name;
    uint64_t ino, cursor;  // cursor: where the next one begins
    uint32_t type;
  };
  DirCursor cursor;  // from recorded cursors to ours: 9P2000.L's offsets, elsewhere the number of the entry
  std::vector<BufferedEntry> kept;
  size_t taken = 0;         // of kept
  uint64_t position = 0;    // the cursor of what comes next
  bool eof = false;         // nothing follows `kept`
  uint64_t read_bytes = 0;  // 9P2000 and .u: where the next Tread begins, and how many entries came before
  uint64_t read_entries = 0;
  std::unordered_set<uint64_t> seen;  // 9P2000 and .u: the hash of each name that came
  bool again = false;                 // what was seen is passed over: entries were removed, so their numbers say nothing
  ListingProgress progress;

  void restart(uint64_t at) {
    seen.clear();
    again = false;
    rewind(at);
  }
  // Reads from the start once more and passes over the names that came.
  void begin_again() {
    again = true;
    rewind(position);
  }

 private:
  void rewind(uint64_t at) {
    kept.clear();
    progress.begin();
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
  std::shared_ptr<Listing> listing;
};

struct Object : KnownObject {
  bool type_known = false;
  uint8_t qid_type = 0;
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

class Tree final : public KnownTree<Object, Open> {
 public:
  explicit Tree(Client& client);

  // Until the server says otherwise:
  bool has_renameat = true, has_unlinkat = true;
  bool wants_qid = false;  // in a Twstat, where it should be one of the members that are left alone

  // A fid of the object, not open; of one without a name an open one, if that will do. ESTALE: nothing taught it.
  Task find(Call& call, ObjectId object, FidRef* found, bool open_will_do = false);
  Task find_dir(Call& call, ObjectId object, FidRef* found);  // ENOTDIR
  // The open instance; opened again if its connection is gone. EBADF.
  Task find_open(Call& call, HandleId handle, Open* found);
  // As find_open(). Without a handle, as in traces of stateless protocols: the object is opened for this call, in that O_ACCMODE.
  Task find_or_open(Call& call, HandleId handle, ObjectId object, uint32_t access, Open* found);

  // Found or made: `fid` is not open, or nothing.
  void teach(ObjectId id, ObjectId parent, std::string_view name, uint8_t qid_type, uint32_t uid, FidRef fid = nullptr);
  // Some servers (diod 1.0, QEMU's) can't tell the attributes of an open file that has no name. There, one that loses its last
  // name while it is open gets a hidden one until its last release. Found out with a file of our own when first needed.
  enum class Knows : uint8_t { unasked, yes, no } stats_nameless = Knows::unasked;
  bool must_hide(ObjectId id) { return stats_nameless != Knows::yes && would_be_nameless(id); }

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

  void forget_places(ObjectId id) override;
  void directory_moved() override { ++client_.epoch; }
  Task walk_to(Call& call, ObjectId id, const Object::Name& name, FidRef* found);
  FidRef cached(ObjectId id, uint32_t uid);
  void keep(ObjectId id, uint32_t uid, FidRef fid);

  Client& client_;
  std::list<Cached> fids_;  // the latest used first
  std::unordered_map<Key, std::list<Cached>::iterator, KeyHash> by_object_;
};

}  // namespace fsr::ninep
