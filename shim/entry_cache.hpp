// SPDX-License-Identifier: Apache-2.0
// Which answers the kernel may keep: what `--cache` means, and how directory entries can be kept without skipping a permission
// check.
//
// The kernel checks nothing on a walk over kept entries, and nobody hears of it. So an entry may be kept only when everybody may
// search its directory: mode & 0111 == 0111 and no access ACL ("public"; o+x alone is not enough, 0705 denies the group). Below
// any other directory each walk sends a LOOKUP, which is answered with the caller's rights. No ancestor is ever looked at again:
// who holds a descriptor below a private directory may use it, as on any file system.
//
// When a directory stops being public, and when a name moves from a public directory to one that is not, kept entries must be
// dead before the caller gets its answer. The kernel counts an epoch for each connection (Linux 6.16): it stamps an entry with
// the epoch that it read before it sent the request, and an entry of an older epoch is looked up again. Older kernels keep no
// entries. A mount inside the capture's mount would not survive that; where there is one, nothing is kept from then on, and the
// first such change waits until what is kept has expired.
//
// No request waits for another here, because each of two racing threads first stores and then loads (all sequentially
// consistent): a lookup marks the directory as one whose entries were kept (handed), then makes sure that it is public still,
// then looks below; a change takes the public mark away, changes the lower directory, then looks whether entries were kept, and
// if so raises the epoch. Either the lookup sees the mark gone or the change sees the entry kept. A lookup that is answered only
// after the epoch was raised was sent before, so that what the kernel makes of it is dead from the start.
//
// A directory that is reached through several mounts is several inodes here, of which a change knows one. So on a file system
// with several mounts nothing is kept from then on, and each change raises the epoch because of what was kept before.
//
// There is a gap in the kernel: a directory has one entry only, which a new lookup takes out again, and it is stamped with the
// new epoch a moment before its old expiry time is replaced. So while that may lie ahead, a lookup that is not to be kept raises
// the epoch once more, and its own stamp is out of date on arrival.
//
// Changes behind the capture go unnoticed while an entry is kept, hence for at most twice that time (once for the public mark,
// once for the entry); file systems that are changed by other machines keep none unless they are told to. ENOENT is never kept.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace fsr::shim {

struct Caller;
struct Inode;

enum class CacheMode {
  kAuto,    // entries, where the lower file system is local
  kNone,    // nothing
  kAttr,    // entries and attributes, on any file system
  kKernel,  // and file data
};

// Part of each inode; used for directories. Atomics, written by any thread.
struct SearchState {
  enum Lower : uint8_t { kUnknown, kLocal, kForeign };
  std::atomic<int64_t> public_until{0};  // CLOCK_MONOTONIC_COARSE, ns; 0: not known to be public
  std::atomic<uint32_t> changes{0};      // started so far
  std::atomic<uint32_t> changing{0};     // under way
  std::atomic<uint32_t> handed{0};       // the last epoch in which entries below were kept
  std::atomic<Lower> lower{kUnknown};
  const std::atomic<bool>* bound = nullptr;  // whether its file system was met through several mounts. Set before use
};

int64_t coarse_now();  // CLOCK_MONOTONIC_COARSE, ns

class EntryCache {
 public:
  struct Settings {
    CacheMode mode = CacheMode::kAuto;
    // How long an entry may be kept.
    int64_t keep_ns = 1'000'000'000;
    // Whether something was mounted inside the capture's mount.
    std::function<bool()> mounted_inside = [] { return false; };
  };
  explicit EntryCache(Settings settings) : settings_(std::move(settings)) {}

  // Seconds for which attributes may be kept.
  double attr_timeout() const { return settings_.mode >= CacheMode::kAttr ? 1 : 0; }
  bool keeps_data() const { return settings_.mode == CacheMode::kKernel; }

  struct Way {
    double timeout;  // of the entry, seconds
    bool as_caller;  // the lower file system has to judge whether the caller may search
  };
  // How to look a name up in a directory. To be asked before the lower directory is: see above. `fd`: the directory's.
  Way search(Inode& dir, int fd, const Caller& caller);

  // An entry for `inode` is about to be answered, to be kept for that long.
  void answering(Inode& inode, double timeout);

  // Around a change after which a directory may not be public any more. Call applied() when it took effect below and before the
  // reply.
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

  // A name moved from one directory to another, or two were exchanged. After it took effect below and before the reply.
  void moved(Inode& from, int from_fd, Inode& to, int to_fd, bool exchanged);

 private:
  struct Look;
  bool is_public(Inode& dir, Look& look);
  bool handed_now(const SearchState& state) const { return is_bound(state) || state.handed.load() == epoch_.load(); }
  static bool is_bound(const SearchState& state) { return state.bound && state.bound->load(); }
  void end_epoch_locked();
  int64_t keep_ns(const SearchState& state) const;

  const Settings settings_;
  std::atomic<bool> given_up_{false};  // nothing is kept any more
  int64_t all_dead_ = 0;               // since then; guarded by mutex_
  std::atomic<uint32_t> epoch_{1};
  std::mutex mutex_;  // public marks are set, and epochs counted and raised, one at a time
};

}  // namespace fsr::shim
