// SPDX-License-Identifier: Apache-2.0
// The client's knowledge of the server's tree: names and fids of objects, open instances, locks. Protected by the connection's
// mutex, like all references to fids.
//
// A server may keep a file's path for a fid instead of the file itself, as diod does. Such a fid becomes invalid if a directory
// above is renamed. Each fid therefore has the epoch of its walk, and the rename of a directory begins a new epoch. Older fids
// are walked to again. An object without a name is reached through a fid that has it open, as on a Linux mount.
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

struct OpCall;

// The listing of an open directory, with entries that the server has sent and no operation has taken yet.
struct Listing {
  struct BufferedEntry {
    std::string name;
    uint64_t ino, cursor;  // cursor: that of the next entry
    uint32_t type;
  };
  DirCursor cursor;  // maps recorded cursors to ours: offsets in 9P2000.L, otherwise numbers of entries
  std::vector<BufferedEntry> kept;
  size_t taken = 0;         // number of entries of `kept` that were taken
  uint64_t position = 0;    // cursor of the entry that is taken next
  bool eof = false;         // `kept` has the last entries
  uint64_t read_bytes = 0;  // 9P2000 and .u: offset of the next Tread, and number of entries before it
  uint64_t read_entries = 0;
  std::unordered_set<uint64_t> seen;  // 9P2000 and .u: the hash of each name that was received
  bool again = false;                 // skip entries by `seen`, because removals have changed their numbers
  ListingProgress progress;

  void restart(uint64_t at) {
    seen.clear();
    again = false;
    rewind(at);
  }
  // Reads the directory from the start again and skips the names that were received.
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
  uint64_t qid_path = 0;  // the server's number of the object
  // Locks of the replayed owners of one client. Their conflicts are found here, as by a Linux client, before the server is asked.
  // All of them use one fid on the server, because servers with one lock for a whole file would otherwise make them exclude each
  // other.
  struct Locks {
    const NinepClient* client;
    LockTable table;
    FidRef fid;
  };
  std::vector<std::unique_ptr<Locks>> locks;  // of each client that has some
  Locks* locks_of(const NinepClient& client) const {
    for (const auto& its : locks)
      if (its->client == &client) return its.get();
    return nullptr;
  }
  Locks& make_locks(const NinepClient& client) {
    if (Locks* its = locks_of(client)) return *its;
    locks.push_back(std::make_unique<Locks>(Locks{&client, {}, nullptr}));
    return *locks.back();
  }
  void forget_locks(const NinepClient& client) {
    std::erase_if(locks, [&](const auto& its) { return its->client == &client; });
  }
  // Appends in flight. Each writes at the end of the file, after the ranges of the client's other appends.
  uint32_t appends = 0;
  uint64_t append_end = 0;

  bool is_dir() const { return !type_known || (qid_type & kQidDir); }
};

class Tree final : public KnownTree<Object, Open> {
 public:
  // `first`: the first of the clients, which all use this tree, each with fids of its own.
  explicit Tree(NinepClient& first);
  void expect_clients(uint32_t clients) { most_fids_ = std::max<size_t>(most_fids_, size_t(clients) * kFidsOfClient); }

  // Assumed until the server shows the opposite:
  bool has_renameat = true, has_unlinkat = true;
  bool wants_qid = false;  // true: the server requires the qid in a Twstat, where it should mean "unchanged"

  // Finds a fid of the object that is not open. `open_will_do`: if the object has no name, an open fid is accepted. ESTALE: no
  // operation has bound its id.
  Task find(OpCall& call, ObjectId object, FidRef* found, bool open_will_do = false);
  Task find_dir(OpCall& call, ObjectId object, FidRef* found);  // ENOTDIR: it is not a directory
  // Finds the open instance of a handle, and opens it again if its connection ended. EBADF: the handle is unknown.
  Task find_open(OpCall& call, HandleId handle, Open* found);
  // Does the same as find_open(). Without a handle, as in traces of stateless protocols, the object is opened for this call.
  // `access`: the O_ACCMODE bits for that.
  Task find_or_open(OpCall& call, HandleId handle, ObjectId object, uint32_t access, Open* found);

  // Adds an object that was found or created. `qid`: a reply or fid with its qid. `fid`: its fid, not open; may be null.
  void map_id(ObjectId id, ObjectId parent, std::string_view name, const auto& qid, uint32_t uid, FidRef fid = nullptr) {
    map_id(id, parent, name, qid.qid_type, qid.qid_path, uid, std::move(fid));
  }
  // `yes`: the server returns attributes of an open file without a name. Some (diod 1.0, QEMU's) can't. On these, a file that
  // loses its last name while it is open gets a hidden name until its last release. Asked when it is first needed.
  enum class Knows : uint8_t { unasked, yes, no } stats_nameless = Knows::unasked;
  bool must_hide(ObjectId id) { return stats_nameless != Knows::yes && would_be_nameless(id); }

 private:
  void map_id(ObjectId id, ObjectId parent, std::string_view name, uint8_t qid_type, uint64_t qid_path, uint32_t uid, FidRef fid);
  static constexpr size_t kFidsOfClient = 16;
  struct Key {
    ObjectId object;
    uint32_t uid;
    const NinepClient* client;
    auto operator<=>(const Key&) const = default;
  };
  struct Cached {
    Key key;
    FidRef fid;
  };

  void forget_paths(ObjectId id) override;
  void directory_moved() override { ++first_.epoch; }
  Task walk_to(OpCall& call, ObjectId id, const Object::Name& name, FidRef* found);
  FidRef cached(const OpCall& call, ObjectId id);
  void keep(ObjectId id, uint32_t uid, FidRef fid);

  NinepClient& first_;
  size_t most_fids_ = 1024;  // fids that are kept for later use
  std::list<Cached> fids_;   // the last used one first
  std::map<Key, std::list<Cached>::iterator> by_object_;
};

}  // namespace fsr::ninep
