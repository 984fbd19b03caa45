// SPDX-License-Identifier: Apache-2.0
// State that the sessions of one NFS target share: options, file handles of objects, open files, data that is not committed yet.
// Thread-safe. After the set-up, only the maps and the counters change.
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
#include "targets/client_share.hpp"
#include "targets/id_map.hpp"
#include "targets/nfs/held_locks.hpp"
#include "targets/nfs/listing.hpp"
#include "targets/nfs/uncommitted.hpp"
#include "targets/rpc/gss_users.hpp"
#include "targets/rpc/principals.hpp"
#include "targets/rpc/tls.hpp"
#include "targets/wire/channel.hpp"
#include "targets/wire/local_addresses.hpp"

namespace fsr::nfs {

// The hidden name of a file that was removed while it was open, and the user who may remove that name.
struct HiddenName {
  FileHandle dir;
  std::string name;
  Identity who;
};

// An object that operations may name by ObjectId.
struct Object {
  FileHandle handle;
  uint32_t opens = 0;
  uint32_t links = 0;    // number of names in the last reply; 0: not known
  bool removed = false;  // its last name was removed or hidden: the object is forgotten with its last release
  uint32_t type = 0;     // S_IFMT bits; 0: not known
  std::vector<HiddenName> hidden;
  std::unique_ptr<Uncommitted> uncommitted;  // null: it had no uncommitted data so far
  // Appends in flight. Version 3 has no append: each asks for the size and writes there, after the ranges of this target's other
  // appends.
  uint32_t appends = 0;
  uint64_t append_end = 0;
};

// One open instance.
struct Open {
  ObjectId object = kNoObject;
  FileHandle handle;
  uint32_t flags = 0;                // O_*
  std::shared_ptr<Listing> listing;  // null for a file
};

struct Counters {
  wire::ChannelCounters wire;
  rpc::GssCounters gss;
  std::atomic<uint64_t> delayed{0};                      // requests repeated after NFS3ERR_JUKEBOX
  std::atomic<uint64_t> stuck_listings{0};               // listings that failed because they made no progress
  std::atomic<uint64_t> hidden{0};                       // removals while open, done as a rename
  std::atomic<uint64_t> hidden_left{0};                  // hidden names that could not be removed
  std::atomic<uint64_t> lost_files{0};                   // files with uncommitted data that a restarted server may have lost
  std::atomic<uint64_t> bytes_again{0};                  // bytes of that data that were written again
  std::atomic<uint64_t> lost_for_good{0};                // files with such data that could not be written again
  std::atomic<uint64_t> locks_again{0};                  // locks granted again after their connection broke
  std::atomic<uint64_t> locks_lost{0};                   // locks not granted again
  std::atomic<uint64_t> unknown{0};                      // operations on an object whose id no earlier operation bound
  std::atomic<uint64_t> repeated{0};                     // operations begun again after a lost reply
  std::atomic<uint64_t> done_without_reply{0};           // operations done although their reply was lost
  std::array<std::atomic<uint64_t>, kProcs> requests{};  // calls by procedure; a repeated call is counted once
};

struct NfsOptions {
  std::vector<wire::Address> server;
  wire::LocalAddresses local;               // own addresses of the connections
  std::vector<wire::Address> lock_manager;  // version 3 only; empty: none
  FileHandle root;
  std::optional<FileSystemId> root_system;                // objects on other file systems are not touched
  uint32_t read_max = 0, write_max = 0, readdir_max = 0;  // bytes of one request
  unsigned connections = 1;                               // version 3: of each session; later versions: of the target
  ClientShare clients;
  uint32_t slots = 64;     // of a session in version 4, as Linux requests (max_session_slots)
  bool read_plus = false;  // version 4.2: reads by READ_PLUS if the server supports it
  Identity self;
  std::optional<rpc::Security> security;  // none: AUTH_SYS
  std::shared_ptr<rpc::Tls> tls;          // null: clear text
  int64_t timeout = 0;                    // ns of a request
  Clock* clock = nullptr;
  bool privileged = false;
  bool impersonate = false;

  // Returns how many requests that make or end security contexts a connection has in flight, at most.
  unsigned context_calls() const { return !security ? 0 : 2 + (security->users ? security->users->size() : 0); }
  // Gets the tickets of the users of the map, if there is one.
  void try_principals() const {
    if (security && security->users) security->users->try_all(*security, *clock);
  }
  // Returns the user as whom an operation is performed.
  Identity user_of(const Credentials& who) const;
  // Returns the user as whom data is written again that a server has lost. A principal's data stays his, whoever notices the
  // loss. `source`: null: it was not lost. `who`: the user of the operation.
  Identity writer_of(const DataSource* source, const Identity& who) const;
  // Returns 0 if the operation may be sent. Otherwise there are no credentials of its user, and it ends with the returned errno.
  int withhold(TargetRequest& request) const { return security && security->users ? security->users->withhold(request) : 0; }
  // Returns what protects connections to a program of the server. Null: nothing does.
  std::shared_ptr<const wire::StreamSecurity> transport(uint32_t program, uint32_t version) const;
};

constexpr unsigned kRewritingRounds = 8;        // passes over a file's lost data, on a server that restarts again and again
constexpr unsigned kMostRaces = 8;              // races of one write with older data that is written again
constexpr uint64_t kUnstableBudget = 64 << 20;  // bytes of memory for data that may have to be written again

class NfsState {
 public:
  explicit NfsState(const NfsOptions& o);

  const NfsOptions options;
  Counters counters;
  Budget unstable_budget{kUnstableBudget};
  IdMap<Object> objects;
  IdMap<Open> opens;
  HeldLocks locks;
  std::string lock_caller;  // name of this client for the lock manager

  bool handle_of(ObjectId object, FileHandle* handle);  // false: no operation has bound the id; counted
  // True: the handle is bound to another id than `object`. Looks at all objects.
  bool knows_as_another(ObjectId object, const FileHandle& handle);
  // Binds an id to the file handle of a reply.
  void map_id(ObjectId object, const FileHandle& handle, const Attr& attr);
  void learn_links(ObjectId object, const Attr& attr);
  void opened(HandleId id, ObjectId object, const FileHandle& handle, uint32_t flags, bool directory);
  // Ends an open instance. *hidden receives the hidden names that its object no longer needs. False: there is no such handle.
  bool released(HandleId id, std::vector<HiddenName>* hidden);
  bool is_open(ObjectId object);
  // Called after one of the object's names was removed.
  void unlinked(ObjectId object);
  // Called after one of the object's names became a hidden one. False: the object is not open any more, and the caller must
  // remove the hidden name.
  bool hide(ObjectId object, HiddenName name);
  // Called if it is not known whether one of the object's names became a hidden one. The hidden name is removed, if it exists,
  // with the last release. False: the object is not open any more, and the caller must do that.
  bool hide_perhaps(ObjectId object, HiddenName name);
  std::string hidden_name();                                         // a new one
  std::string_view hidden_prefix() const { return hidden_prefix_; }  // prefix of all hidden names

  void begin_append(ObjectId object);
  // Returns the offset for an append of `length` bytes. `size`: the file's size on the server, requested after begin_append().
  uint64_t place_append(ObjectId object, uint64_t size, uint64_t length);
  void end_append(ObjectId object);

  // Returns a number that grows with each reply to data that is written again. Taken when a WRITE is sent, for wrote().
  uint64_t rewriting_stamp() const { return counters.bytes_again; }
  struct Wrote {
    bool restarted = false;  // the server restarted and lost data: the caller must call begin_rewriting()
    bool raced = false;      // older data, written again, may have replaced this write: the caller must repeat it
  };
  // Handles the reply UNSTABLE to a WRITE of `count` bytes at `offset`.
  Wrote wrote(ObjectId object, uint64_t offset, uint64_t count, const DataSource& source, uint64_t verifier, uint64_t stamp);
  // Called when bytes from `offset` to `end` need no commit: written STABLE, truncated or deallocated. Returns Wrote::raced.
  bool settled(ObjectId object, uint64_t offset, uint64_t end, uint64_t stamp = UINT64_MAX);
  // Called for a write that raced again and again. Its data is then treated as lost.
  void lose(ObjectId object, uint64_t offset, uint64_t end);
  // Returns the source from which `count` bytes at `offset` of the file can be written again after the operation. `start`: the
  // offset at which the operation's data begins.
  DataSource source_of(const TargetRequest& request, uint64_t start, uint64_t offset, uint64_t count);
  // True: the object has uncommitted data. *upto: number of the last write that a COMMIT sent now covers.
  bool needs_commit(ObjectId object, uint64_t* upto);
  // Handles the reply to a COMMIT. *lost: data must be written again and committed. Returns EIO, once for each loss, if data
  // can't be written again, and counts that; else 0.
  int committed(ObjectId object, uint64_t upto, uint64_t verifier, bool* lost);
  // True: data is lost; the caller must write again the data of take_lost() and then call end_rewriting(). False: another call
  // does that, or no data is lost.
  bool begin_rewriting(ObjectId object);
  void end_rewriting(ObjectId object);
  // Do the same as the functions of Uncommitted for the data of `object`.
  std::optional<LostData> take_lost(ObjectId object, uint64_t from, uint64_t upto, uint64_t most);
  void wrote_again(ObjectId object, const LostData& piece, uint64_t bytes, uint64_t verifier);
  void leave(ObjectId object, const LostData& piece);

 private:
  std::atomic<uint64_t> hidden_names_{0};
  std::string hidden_prefix_;  // includes random digits, which differ from run to run
};

}  // namespace fsr::nfs
