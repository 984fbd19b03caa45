// SPDX-License-Identifier: Apache-2.0
// State that the sessions of one NFS target share: address and limits of the server, file handles of recorded objects, open
// files, and data that is written and not yet committed. Safe for the sessions' threads. After the set-up only the maps and the
// counters change.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/target.hpp"
#include "nfs/nfs3.hpp"
#include "targets/id_map.hpp"
#include "targets/nfs/held_locks.hpp"
#include "targets/nfs/listing.hpp"
#include "targets/nfs/uncommitted.hpp"
#include "targets/wire/channel.hpp"

namespace fsr::nfs {

// A file that was removed while open: what its hidden name is, and who may remove it.
struct HiddenName {
  FileHandle dir;
  std::string name;
  Identity who;
};

// A file that operations may name by ObjectId.
struct Object {
  FileHandle handle;
  uint32_t opens = 0;
  uint32_t links = 0;    // names, as last told; 0 = not known
  bool removed = false;  // its last name is gone or hidden: forgotten with its last open
  uint32_t type = 0;     // S_IFMT bits, 0 = not told
  std::vector<HiddenName> hidden;
  std::unique_ptr<Uncommitted> uncommitted;  // nullptr: nothing ever was
  // Appends under way. Version 3 has none: each asks for the size and writes there, behind what others of ours already took.
  uint32_t appends = 0;
  uint64_t append_end = 0;
};

// One open instance.
struct Open {
  ObjectId object = kNoObject;
  FileHandle handle;
  uint32_t flags = 0;                // O_*
  std::shared_ptr<Listing> listing;  // of a directory
};

struct Counters {
  wire::ChannelCounters wire;
  std::atomic<uint64_t> delayed{0};                      // NFS3ERR_JUKEBOX: asked again later
  std::atomic<uint64_t> stuck_listings{0};               // that failed since the server led nowhere
  std::atomic<uint64_t> hidden{0};                       // removals while open, done as a rename
  std::atomic<uint64_t> hidden_left{0};                  // hidden names that could not be removed
  std::atomic<uint64_t> lost_files{0};                   // of which a server that restarted may have lost uncommitted data
  std::atomic<uint64_t> bytes_again{0};                  // of that data, written again
  std::atomic<uint64_t> lost_for_good{0};                // files of which some could not be
  std::atomic<uint64_t> locks_again{0};                  // locks asked for again after their connection broke, and had
  std::atomic<uint64_t> locks_lost{0};                   // and not had
  std::atomic<uint64_t> unknown{0};                      // operations on an object that nothing taught
  std::array<std::atomic<uint64_t>, kProcs> requests{};  // calls sent, by procedure; a call that is sent again is one
};

struct NfsOptions {
  std::vector<wire::Address> server;
  std::vector<wire::Address> lock_manager;  // version 3; none: not offered, or not wanted
  FileHandle root;
  std::optional<FileSystemId> root_system;                // nothing below another one is touched
  uint32_t read_max = 0, write_max = 0, readdir_max = 0;  // bytes of one request
  unsigned connections = 1;                               // version 3: of one session
  Identity self;
  int64_t timeout = 0;  // of a request, ns
  Clock* clock = nullptr;
  bool privileged = false;
  bool impersonate = false;
};

constexpr unsigned kRewritingRounds = 8;        // through a file, on a server that restarts again and again
constexpr unsigned kMostRaces = 8;              // of a write with older data that is written again
constexpr uint64_t kUnstableBudget = 64 << 20;  // bytes, to be able to write again what a server loses

class NfsState {
 public:
  explicit NfsState(const NfsOptions& o);

  const NfsOptions options;
  Counters counters;
  Budget unstable_budget{kUnstableBudget};
  IdMap<Object> objects;
  IdMap<Open> opens;
  HeldLocks locks;
  std::string lock_caller;  // our name for the lock manager

  bool handle_of(ObjectId object, FileHandle* handle);  // false (counted): nothing taught it
  // A reply told where the object is.
  void teach(ObjectId object, const FileHandle& handle, const Attr& attr);
  void learn_links(ObjectId object, const Attr& attr);
  void opened(HandleId id, ObjectId object, const FileHandle& handle, uint32_t flags, bool directory);
  // The open instance ended; hidden names that its object no longer needs move to *hidden. False: no such open.
  bool released(HandleId id, std::vector<HiddenName>* hidden);
  bool is_open(ObjectId object);
  // One of the object's names is gone.
  void unlinked(ObjectId object);
  // One of its names became a hidden one. False: it is not open any more, the caller must remove the hidden name.
  bool hide(ObjectId object, HiddenName name);
  std::string hidden_name();                                         // fresh
  std::string_view hidden_prefix() const { return hidden_prefix_; }  // of all of those

  void begin_append(ObjectId object);
  // Where `length` bytes go, now that the server told the size (as of some time since begin_append).
  uint64_t place_append(ObjectId object, uint64_t size, uint64_t length);
  void end_append(ObjectId object);

  // Grows with each answer to what is written again. To be taken when a WRITE is sent, for wrote().
  uint64_t rewriting_stamp() const { return counters.bytes_again; }
  struct Wrote {
    bool restarted = false;  // the server had, and something is lost: the caller is to begin_rewriting()
    bool raced = false;      // older data that is written again may have come after this: the caller writes it once more
  };
  // A WRITE of `count` bytes at `offset` was answered as UNSTABLE.
  Wrote wrote(ObjectId object, uint64_t offset, uint64_t count, const DataSource& source, uint64_t verifier, uint64_t stamp);
  // Bytes from `offset` up to `end` are safe or gone: written STABLE, truncated, deallocated. Returns Wrote::raced.
  bool settled(ObjectId object, uint64_t offset, uint64_t end, uint64_t stamp = UINT64_MAX);
  // A write raced again and again: what it left there is to be written again by who does that for others.
  void lose(ObjectId object, uint64_t offset, uint64_t end);
  // How the `count` bytes at `offset` of the file can be had again after the operation, whose data went to `start` of the file.
  DataSource source_of(const Request& request, uint64_t start, uint64_t offset, uint64_t count);
  // Is there something to commit? *upto: what the COMMIT to be sent will cover.
  bool needs_commit(ObjectId object, uint64_t* upto);
  // A COMMIT was answered. *lost: something is to be written again and committed. Returns 0, or EIO if something can't be
  // (counted, told once).
  int committed(ObjectId object, uint64_t upto, uint64_t verifier, bool* lost);
  // Something is lost. True: the caller writes again what take_lost() gives, and calls end_rewriting() then. False: somebody else
  // does that.
  bool begin_rewriting(ObjectId object);
  void end_rewriting(ObjectId object);
  // As Uncommitted's. Taken as it stands: what others write meanwhile is not lost.
  std::optional<LostData> take_lost(ObjectId object, uint64_t from, uint64_t upto, uint64_t most);
  void wrote_again(ObjectId object, const LostData& piece, uint64_t bytes, uint64_t verifier);
  void leave(ObjectId object, const LostData& piece);

 private:
  std::atomic<uint64_t> hidden_names_{0};
  std::string hidden_prefix_;  // tells this run's from another's
};

}  // namespace fsr::nfs
