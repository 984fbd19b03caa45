// SPDX-License-Identifier: Apache-2.0
// A model of the Linux NFS client: the requests that it would have sent for the operations of applications.
//
// Follows the client of Linux 5.18 to 6.x (fs/nfs/dir.c, inode.c, file.c, write.c, mm/readahead.c and nfs(5)); docs/mixfile.md
// says what is modelled, what is not, and how far it is from a real mount. The model takes one client's operations in start
// order. It assumes that only this client changes files, unless a reply shows another change.
//
// One thread. Memory grows with the number of objects and names that exist, and with the pieces of files that are cached.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "mix/wire_calls.hpp"
#include "op.hpp"
#include "util/interval_set.hpp"

namespace fsr {

// Times in ns, sizes in bytes; the defaults are those of mount.nfs.
struct LinuxClientOptions {
  unsigned nfs_version = 3;
  uint64_t rsize = 1 << 20, wsize = 1 << 20;
  int64_t acregmin = 3'000'000'000, acregmax = 60'000'000'000;
  int64_t acdirmin = 30'000'000'000, acdirmax = 60'000'000'000;
  uint64_t readahead = 128 << 10;  // /sys/class/bdi/*/read_ahead_kb
  uint64_t dtsize = 64 << 10;      // one reply of READDIRPLUS, at most
  bool close_to_open = true;       // not with the mount option nocto

  // Takes over what a list of mount options says ("rw,rsize=65536,noac").
  void apply_mount_options(const std::string& options);
};

class LinuxClient {
 public:
  explicit LinuxClient(const LinuxClientOptions& options);

  void apply(const Op& op);
  const WireCalls& sent() const { return sent_; }

 private:
  struct Dentry {
    ObjectId object = kNoObject;  // none: no such file, or (named_only) returned by READDIRPLUS, the object not seen yet
    bool named_only = false;
    uint64_t version = 0;  // of the directory when it was looked up
  };
  struct Inode {
    bool directory = false;
    bool attributes = false;  // known and not invalidated
    int64_t refreshed = 0, timeout = 0, timeout_since = 0;
    uint64_t size = 0;
    int64_t mtime = 0;
    int64_t mine_until = 0;  // a new mtime until then is this client's doing
    // The change time has moved, but no reply has shown it yet. With data_doubtful, the next attributes invalidate the cached
    // data. With all_doubtful, they also invalidate the access cache and the names, because not only a SETATTR moved it.
    bool data_doubtful = false, all_doubtful = false;
    std::set<uint32_t> accessible;  // users with an entry in the access cache
    bool access_invalid = false;    // the entries go with the next use
    ObjectId parent = kNoObject;    // where it was last seen
    uint32_t opens = 0;
    uint64_t links = 1;
    bool silly = false;  // renamed out of the way because it was open when it was removed
    bool link_cached = false;
    // A directory's entries.
    uint64_t version = 0;  // counts changes by others
    bool listed = false;
    int64_t listed_at = 0;
    unsigned misses = 0;  // attributes of entries that had to be asked for since the last readdir
    std::unordered_map<std::string, Dentry> names;
    // A file's data, in bytes; cached in whole pages.
    IntervalSet cached, dirty;
    bool unstable = false;    // written, not committed
    int64_t dirty_since = 0;  // of the oldest part
  };
  struct Handle {
    ObjectId object = kNoObject;
    uint32_t flags = 0;
    // Read-ahead, in pages: the window, how much of it lies behind the mark that starts the next one, where the last read ended.
    uint64_t window = 0, window_size = 0, ahead = 0;
    uint64_t previous = UINT64_MAX;
    // Listing: bytes of the reply that is being filled, UINT64_MAX = the entries come from the cache.
    uint64_t reply_bytes = UINT64_MAX;
  };
  struct Thread {
    // The last operation was a LOOKUP that the client may not have needed; the next operation decides.
    bool looked_up = false;
    ObjectId parent = kNoObject, object = kNoObject;  // object: none = no such file
    std::string name;
  };

  // Time, in ns, after a change by this client during which a new modification time counts as its own. Written data, and the
  // names of files that were removed while open, reach the server later.
  static constexpr int64_t kSettling = 2'000'000'000;

  // Names and attributes (linux_client.cpp).
  Inode& inode(ObjectId object);
  void request(Wire wire, uint64_t n = 1) { sent_.add(wire, n); }
  void refresh(Inode& inode, int64_t now);
  void confirm(Inode& inode, int64_t now);  // refresh by a reply that shows what has moved
  bool expired(const Inode& inode, int64_t now) const;
  void revalidate(Inode& inode, int64_t now);  // GETATTR where the attributes are too old
  void check_access(Inode& inode, uint32_t uid, int64_t now);
  void learn(ObjectId object, const Attr* attr, int64_t now);
  void foreign_change(Inode& inode, int64_t now);
  void changed_entries(ObjectId parent, int64_t now);
  void enter(ObjectId parent, std::string_view name, ObjectId object);
  bool spares_lookup(const Thread& thread, const Op& next) const;
  void lookup(const Op& op, Thread& thread);
  void open(const Op& op, ObjectId fresh);
  void create(const Op& op);
  void make(const Op& op, Wire wire);
  void remove(const Op& op);
  void rename(const Op& op);
  void setattr(const Op& op);
  void list(const Op& op);
  void close(const Op& op);
  bool silly_rename(ObjectId object);  // true when the object is open, and so only renamed
  void drop_link(ObjectId object);
  void lock(const Op& op);

  // Data (linux_client_data.cpp).
  void read(Inode& inode, Handle& handle, uint64_t offset, uint64_t length);
  void fetch(Inode& inode, uint64_t from_page, uint64_t pages);
  void write(Inode& inode, const Handle& handle, uint64_t offset, uint64_t length, int64_t now);
  void write_dirty(Inode& inode, bool wait, int64_t now);
  void write_back(Inode& inode, int64_t now) { write_dirty(inode, true, now); }
  void truncate(Inode& inode, uint64_t size);

  const LinuxClientOptions options_;
  WireCalls sent_;
  std::unordered_map<ObjectId, Inode> inodes_;
  std::unordered_map<HandleId, Handle> handles_;
  std::unordered_map<ThreadId, Thread> threads_;
};

}  // namespace fsr
