// SPDX-License-Identifier: Apache-2.0
#include "entry_cache.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "connection.hpp"
#include "credentials.hpp"
#include "inode_table.hpp"
#include "permission.hpp"

namespace fsr::shim {

// An answer's time counts from when the kernel gets it, and in ticks.
static constexpr int64_t kOnItsWay = 100'000'000;

// State of a directory during one request.
struct EntryCache::Look {
  Inode& dir;
  int fd;
  bool stated = false;
  struct stat s;

  const struct stat& stat() {
    if (!stated && fstat(fd, &s) != 0) s = {};
    stated = true;
    return s;
  }
};

int64_t EntryCache::keep_ns(const SearchState& state) const {
  if (settings_.mode == CacheMode::kNone || !can_raise_epoch() || given_up_.load(std::memory_order_relaxed)) return 0;
  if (is_bound(state)) return 0;
  bool local = state.lower.load(std::memory_order_relaxed) == SearchState::kLocal;
  return local || settings_.mode != CacheMode::kAuto ? settings_.keep_ns : 0;
}

bool EntryCache::is_public(Inode& dir, Look& look) {
  SearchState& state = dir.search;
  int64_t until = state.public_until.load(), now = 0;
  if (until != 0 && until > (now = coarse_now()) && !is_bound(state)) return true;
  uint32_t changes = state.changes.load();
  if (state.changing.load() != 0) return false;
  if ((look.stat().st_mode & 0111) != 0111 || has_access_acl(look.fd)) return false;
  (void)is_local(look.dir, look.fd);
  if (int64_t keep = keep_ns(state); keep != 0) {
    if (now == 0) now = coarse_now();
    std::lock_guard lock(mutex_);
    if (state.changing.load() != 0 || state.changes.load() != changes) return false;
    state.public_until.store(now + keep);
  }
  return true;
}

EntryCache::LookupPolicy EntryCache::search(Inode& dir, int fd, const Caller& caller) {
  Look look{dir, fd};
  SearchState& state = dir.search;
  const bool local = is_local(dir, fd);
  if (is_public(dir, look)) {
    bool as_caller = !local && !acts_as_root(caller);
    if (keep_ns(state) == 0) return {0, as_caller};
    // Never backwards: another lookup may be in a later epoch already.
    uint64_t epoch = epoch_.load(), handed = state.handed.load();
    while (epoch > handed && !state.handed.compare_exchange_weak(handed, epoch)) {
    }
    if (state.public_until.load() != 0) return {double(settings_.keep_ns) / 1e9, as_caller};
  }
  if (acts_as_root(caller)) return {0, false};
  // A change may be in progress, so the file system decides by the present state.
  return {0, !(local && plainly_owned(caller, look.stat(), X_OK))};
}

void EntryCache::answering(Inode& inode, double timeout) {
  if (timeout > 0) {
    inode.kept_until = coarse_now() + settings_.keep_ns + kOnItsWay;
  } else if (S_ISDIR(inode.type) && inode.kept_until != 0 && coarse_now() < inode.kept_until) {
    std::lock_guard lock(mutex_);
    end_epoch_locked();
  }
}

EntryCache::Change::Change(EntryCache& cache, Inode& dir) : cache_(cache), state_(dir.search) {
  std::lock_guard lock(cache_.mutex_);
  state_.changing.fetch_add(1);
  state_.changes.fetch_add(1);
  state_.public_until.store(0);
}

EntryCache::Change::~Change() { state_.changing.fetch_sub(1); }

void EntryCache::Change::applied() {
  std::lock_guard lock(cache_.mutex_);
  if (cache_.handed_now(state_) || cache_.given_up_.load()) cache_.end_epoch_locked();
}

void EntryCache::moved(Inode& from, int from_fd, Inode& to, int to_fd, bool exchanged) {
  if (&from == &to) return;
  // The kernel keeps the entry of a name that moves.
  bool there, back;
  {
    std::lock_guard lock(mutex_);
    there = handed_now(from.search) || given_up_.load();
    back = exchanged && (handed_now(to.search) || given_up_.load());
  }
  if (!there && !back) return;
  Look from_look{from, from_fd}, to_look{to, to_fd};
  bool safe = (!there || is_public(to, to_look)) && (!back || is_public(from, from_look));
  std::lock_guard lock(mutex_);
  if (!safe) return end_epoch_locked();
  if (there) to.search.handed.store(epoch_.load());
  if (back) from.search.handed.store(epoch_.load());
}

void EntryCache::end_epoch_locked() {
  if (!given_up_.load()) {
    if (!settings_.mounted_inside()) {
      // Counted first: an entry that is kept between the two steps is taken for one of the new epoch.
      epoch_.fetch_add(1);
      if (raise_epoch()) return;
    }
    given_up_.store(true);
    all_dead_ = coarse_now() + settings_.keep_ns + kOnItsWay;
  }
  if (int64_t rest = all_dead_ - coarse_now(); rest > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(rest));
}

}  // namespace fsr::shim
