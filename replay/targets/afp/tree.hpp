// SPDX-License-Identifier: Apache-2.0
// What is known of the volume's tree. A directory is reached by its id, which outlives renames and sessions; a file by its
// directory's id and its name. Belongs to the client's mutex, like all that refers to forks.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/lock_table.hpp"
#include "targets/afp/client.hpp"
#include "targets/dir_cursor.hpp"
#include "targets/known_tree.hpp"
#include "targets/listing_progress.hpp"

namespace fsr::afp {

struct Call;

// An open directory: entries that the server has sent and no operation has taken yet.
struct Listing {
  struct BufferedEntry {
    std::string name;
    uint64_t ino;
    uint32_t type;
  };
  DirCursor cursor;  // from recorded cursors to ours: how many entries came before
  std::vector<BufferedEntry> kept;
  size_t taken = 0;       // of kept
  uint64_t position = 0;  // of the next one taken
  bool eof = false;       // nothing follows `kept`
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
  ForkRef fork;                      // of a file
  uint32_t flags = 0;                // O_*
  std::shared_ptr<Listing> listing;  // of a directory
};

struct Object : KnownObject {
  uint32_t type = 0;      // S_IFMT bits, 0 = not known
  uint32_t did = 0;       // of a directory, 0 = not known
  bool diverged = false;  // opened by another name while it was open: its copies may hold different data
  // Conflicts among the replayed owners are decided here: to the server they are one. What they hold together is held there on a
  // fork of its own, so that it outlives theirs.
  struct Locks {
    LockTable table;
    ForkRef fork;
    bool writes = false;                // by that fork
    std::vector<LockTable::Span> held;  // on the server
    bool changing = false;              // `held` is being brought in line
  };
  std::unique_ptr<Locks> locks;

  bool is_dir() const { return type == 0 || (type & S_IFMT) == S_IFDIR; }
};

// Where an object is: a directory, and a name in it as on the wire; none: the directory itself.
struct NameInDirectory {
  uint32_t did = 0;
  std::string name;
};

class Tree final : public KnownTree<Object, Open> {
 public:
  explicit Tree(Client& client) : KnownTree(".afp"), client_(client) {}

  // Where the object is. ESTALE: nothing taught it; ENOENT: its last name is gone.
  Task find(Call& call, ObjectId object, NameInDirectory* place);
  Task find_dir(Call& call, ObjectId object, uint32_t* did);  // ENOTDIR
  // The open file; opened again if its session is gone. EBADF, EISDIR.
  Task find_open(Call& call, HandleId handle, Open* found);
  // As find_open(). Without a handle, as in traces of stateless protocols: the file is opened for this call.
  Task find_or_open(Call& call, HandleId handle, ObjectId object, uint16_t access, Open* found);

  // An open file; see Object::diverged.
  void opened(HandleId handle, Open open) {
    if (Object* o = object(open.object); o && o->opens > 0 && o->names.size() > 1) o->diverged = true;
    add_open(handle, std::move(open));
  }
  void teach(ObjectId id, ObjectId parent, std::string_view name, uint32_t type, uint32_t did);

 private:
  Client& client_;
};

}  // namespace fsr::afp
