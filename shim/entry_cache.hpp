// SPDX-License-Identifier: Apache-2.0
// Which answers the kernel may keep: what `--cache` means, and how directory entries can be kept without skipping a permission
// check.
//
// The kernel checks nothing on a walk over kept entries, and sends no request. So an entry may be kept only when everybody may
// search its directory: mode & 0111 == 0111 and no access ACL ("public"; o+x alone is not enough, 0705 denies the group). Below
// any other directory each walk sends a LOOKUP, which is answered with the caller's rights. No ancestor is ever looked at again:
// who holds a descriptor below a private directory may use it, as on any file system.
//
// A directory may stop being public, or a name may move from a public directory to a private one. Kept entries must be invalid
// then before the caller gets its answer. The kernel counts an epoch for each connection (Linux 6.16). It stamps an entry with
// the epoch that it read before it sent the request, and looks up entries of older epochs again. Older kernels keep no entries. A
// mount inside the capture's mount would not survive that. If there is one, nothing is kept from then on, and the first such
// change waits until the kept entries have expired.
//
// No request waits for another here, because each of two racing threads first stores and then loads (all sequentially
// consistent). A lookup marks the directory as one whose entries were kept (handed), then checks that it is still public, then
// looks below. A change removes the public mark, changes the underlying directory, then checks whether entries were kept, and if
// so raises the epoch. Either the lookup sees that the mark is gone, or the change sees that an entry was kept. A lookup that is
// answered after the epoch was raised had been sent before, so its entry is invalid from the start.
//
// A directory that is reached through several mounts is several inodes here, of which a change knows one. So on a file system
// with several mounts nothing is kept from then on. Entries that were kept before make each change raise the epoch.
//
// There is a gap in the kernel: a directory has only one entry, and a new lookup reuses it. The entry gets the new epoch a moment
// before its old expiry time is replaced. While the old expiry time may lie ahead, a lookup that must not be kept raises the
// epoch once more. Its own stamp is then out of date on arrival.
//
// Changes outside of the capture are missed while an entry is kept. This takes at most twice the time: once for the public mark,
// once for the entry. No entry is kept on file systems that other machines change, except on request. ENOENT is never kept.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "util/clock_ns.hpp"

namespace fsr::shim {

struct Caller;
struct Inode;

enum class CacheMode {
  kAuto,    // the kernel may cache entries if the underlying file system is local
  kNone,    // the kernel may cache nothing
  kAttr,    // the kernel may cache entries and attributes, on any file system
  kKernel,  // the kernel may cache entries, attributes and file data
};

// Part of each inode; used for directories. Atomics, written by any thread.
struct SearchState {
  enum Lower : uint8_t { kUnknown, kLocal, kForeign };
  std::atomic<int64_t> public_until{0};  // CLOCK_MONOTONIC_COARSE, ns; 0: not known to be public
  std::atomic<uint32_t> changes{0};      // changes that were started so far
  std::atomic<uint32_t> changing{0};     // changes in progress
  std::atomic<uint64_t> handed{0};       // last epoch in which the kernel got entries of the directory to keep
  std::atomic<Lower> lower{kUnknown};
  const std::atomic<bool>* bound = nullptr;  // true: its file system is reached through several mounts. Set before use
};

inline int64_t coarse_now() { return clock_ns(CLOCK_MONOTONIC_COARSE); }  // ns

class EntryCache {
 public:
  struct Settings {
    CacheMode mode = CacheMode::kAuto;
    // Time for which an entry may be kept.
    int64_t keep_ns = 1'000'000'000;
    // Returns true if something was mounted inside the capture's mount.
    std::function<bool()> mounted_inside = [] { return false; };
  };
  explicit EntryCache(Settings settings) : settings_(std::move(settings)) {}

  // Seconds for which attributes may be kept.
  double attr_timeout() const { return settings_.mode >= CacheMode::kAttr ? 1 : 0; }
  bool keeps_data() const { return settings_.mode == CacheMode::kKernel; }

  struct LookupPolicy {
    double timeout;  // seconds for which the entry may be kept
    bool as_caller;  // look up as the caller, because only the underlying file system knows whether the caller may search
  };
  // Returns how to look up a name in a directory. Call this before the lookup in the underlying directory. `fd`: the directory's.
  LookupPolicy search(Inode& dir, int fd, const Caller& caller);

  // Call this before a reply with an entry for `inode` that the kernel may keep for `timeout` seconds.
  void answering(Inode& inode, double timeout);

  // Lives during a change after which a directory may not be public any more. Call applied() when the change has taken effect in
  // the underlying file system, and before the reply.
  class Change {
   public:
    Change(EntryCache& cache, Inode& dir);
    ~Change();
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    void applied();

   private:
    EntryCache& cache_;
    SearchState& state_;
  };

  // Call this when a name was moved to another directory, or two were exchanged, and before the reply.
  void moved(Inode& from, int from_fd, Inode& to, int to_fd, bool exchanged);

 private:
  struct Look;
  bool is_public(Inode& dir, Look& look);
  bool handed_now(const SearchState& state) const { return is_bound(state) || state.handed.load() == epoch_.load(); }
  static bool is_bound(const SearchState& state) { return state.bound && state.bound->load(); }
  void end_epoch_locked();
  int64_t keep_ns(const SearchState& state) const;

  const Settings settings_;
  std::atomic<bool> given_up_{false};  // true: the kernel gets no entries to keep any more
  int64_t all_dead_ = 0;               // time at which all kept entries have expired; guarded by mutex_
  std::atomic<uint64_t> epoch_{1};
  std::mutex mutex_;  // held to set or clear public_until, and to end an epoch
};

}  // namespace fsr::shim
