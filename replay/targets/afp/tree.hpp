// SPDX-License-Identifier: Apache-2.0
// The client's knowledge of the volume's tree. A directory is addressed by its id, which survives renames and sessions; a file by
// its directory's id and its name. Protected by the connection's mutex, like all references to forks.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/lock_table.hpp"
#include "targets/afp/client.hpp"
#include "targets/dir_cursor.hpp"
#include "targets/known_tree.hpp"
#include "targets/listing_progress.hpp"

namespace fsr::afp {

struct OpCall;

// The listing of an open directory, with entries that the server has sent and no operation has taken yet.
struct Listing {
  struct BufferedEntry {
    std::string name;
    uint64_t ino;
    uint32_t type;
  };
  DirCursor cursor;  // maps recorded cursors to ours, which are the number of entries before
  std::vector<BufferedEntry> kept;
  size_t taken = 0;       // number of entries of `kept` that were taken
  uint64_t position = 0;  // position of the entry that is taken next
  bool eof = false;       // `kept` has the last entries
  ListingProgress progress;

  void restart(uint64_t at) {
    kept.clear();
    progress.begin();
    taken = 0;
    position = at;
    eof = false;
  }
};

struct Open {
  ObjectId object = kNoObject;
  ForkRef fork;                      // null for a directory
  uint32_t flags = 0;                // O_*
  std::shared_ptr<Listing> listing;  // null for a file
};

struct Object : KnownObject {
  uint32_t type = 0;  // S_IFMT bits; 0: not known
  uint32_t did = 0;   // id of a directory; 0: not known
  // Name that operations use while the object has several, because links are copies on AFP and only this one is written to.
  // None: they use the last name.
  std::optional<Name> original;
  std::vector<Name> outdated;  // names whose copies lack a later change of the file
  // Locks of the replayed owners of one client, whose conflicts are found here, because all are one to the server. The union of
  // their locks is held on the server by a separate fork, so that it does not depend on the owners' forks.
  struct Locks {
    const AfpClient* client;
    LockTable table;
    ForkRef fork;
    bool writes = false;                // `fork` may write
    std::vector<LockTable::Span> held;  // ranges that the server has locked
    bool changing = false;              // the server's locks are being changed
  };
  std::vector<std::shared_ptr<Locks>> locks;  // also kept by who changes them, as the object may be removed meanwhile
  std::shared_ptr<Locks> locks_of(const AfpClient& client) const {
    for (const auto& its : locks)
      if (its->client == &client) return its;
    return nullptr;
  }
  Locks& make_locks(const AfpClient& client) {
    if (const auto its = locks_of(client)) return *its;
    locks.push_back(std::make_shared<Locks>(Locks{.client = &client}));
    return *locks.back();
  }

  bool is_dir() const { return type == 0 || (type & S_IFMT) == S_IFDIR; }
};

// The address of an object: a directory, and a name in it as on the wire. Empty name: the directory itself.
struct NameInDirectory {
  uint32_t did = 0;
  std::string name;
};

class Tree final : public KnownTree<Object, Open> {
 public:
  // `first`: the first of the clients, which all use this tree.
  explicit Tree(AfpClient& first) : KnownTree(".afp"), first_(first) {}
  void expect_clients(uint32_t) {}

  // Finds the address of the object. ESTALE: no operation has bound its id; ENOENT: it has no name any more.
  Task find(OpCall& call, ObjectId object, NameInDirectory* entry);
  Task find_dir(OpCall& call, ObjectId object, uint32_t* did);  // ENOTDIR: it is not a directory
  // Finds the open file of a handle, and opens it again if its AFP session ended. EBADF: the handle is unknown; EISDIR: it is a
  // directory's.
  Task find_open(OpCall& call, HandleId handle, Open* found);
  // Does the same as find_open(). Without a handle, as in traces of stateless protocols, the file is opened for this call.
  Task find_or_open(OpCall& call, HandleId handle, ObjectId object, uint16_t access, Open* found);

  void opened(HandleId handle, Open open) { add_open(handle, std::move(open)); }
  // Keeps using the name that the object has now when it gets another one.
  void copied(ObjectId id);
  // True: the object has several names, and operations use this one.
  bool is_original(ObjectId id, ObjectId parent, std::string_view name);
  // Uses this name from now on, if the object still has several.
  void set_original(ObjectId id, ObjectId parent, std::string_view name);
  void map_id(ObjectId id, ObjectId parent, std::string_view name, uint32_t type, uint32_t did);
  void changed(ObjectId id);              // called after a change of the file that its further copies lack
  void renamed(const Op& op, bool done);  // follows begin_rename()
  std::vector<std::string> outdated_copies() const;

 private:
  // State of one of several names of a file: the original, or a copy that lacks a later change.
  struct Copy {
    bool original = false, outdated = false;
  };
  Copy copy(ObjectId id, ObjectId parent, std::string_view name);
  void keep(const Copy& copy, ObjectId id, ObjectId parent, std::string_view name);
  void forget_paths(ObjectId id) override;

  AfpClient& first_;
};

}  // namespace fsr::afp
