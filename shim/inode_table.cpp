// SPDX-License-Identifier: Apache-2.0
#include "inode_table.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "util/name_hash.hpp"

namespace fsr::shim {

namespace {

constexpr uint64_t kRootNode = 1;  // FUSE_ROOT_ID
// STATX_MNT_ID, and STATX_MNT_ID_UNIQUE for a number that is never used again (Linux 6.8), which older headers don't have.
constexpr unsigned kMountId = 0x1000 | 0x4000;

uint64_t device_of(int fd) {
  struct stat s;
  return fstat(fd, &s) == 0 ? s.st_dev : 0;
}

}  // namespace

FileKey key_of(const struct statx& s) {
  uint64_t birth =
      uint64_t(s.stx_btime.tv_sec) * 1'000'000'000 + s.stx_btime.tv_nsec;  // wraps in 2554; files stay distinguishable
  return {makedev(s.stx_dev_major, s.stx_dev_minor), s.stx_ino, int64_t(birth), 0, s.stx_mnt_id};
}

// Replaces the birth time if the file system has none (NFS): a file's handle contains its generation. 0: no file handles.
static int64_t handle_mark(int dirfd, const char* name) {
  alignas(file_handle) char memory[sizeof(file_handle) + MAX_HANDLE_SZ];
  auto* handle = new (memory) file_handle;
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount_id;
  if (name_to_handle_at(dirfd, name, handle, &mount_id, AT_EMPTY_PATH) != 0) return 0;
  return int64_t(XXH3_64bits(handle->f_handle, handle->handle_bytes) >> 34);  // as seconds it fits into ns
}

// Null where the file system has no handles.
static FileHandle handle_of(int dirfd, const char* name) {
  alignas(file_handle) char memory[sizeof(file_handle) + MAX_HANDLE_SZ];
  auto* handle = new (memory) file_handle;
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount_id;
  if (name_to_handle_at(dirfd, name, handle, &mount_id, AT_EMPTY_PATH) != 0) return nullptr;
  const size_t size = sizeof(file_handle) + handle->handle_bytes;
  auto kept = std::make_unique<std::byte[]>(size);
  memcpy(kept.get(), memory, size);
  return kept;
}

// Hash of a file without its mount, because in a trace it is one file in all mounts.
static uint64_t mark_of(const FileKey& key) { return XXH3_64bits(&key, offsetof(FileKey, mount)); }

InodeTable::InodeTable(int root_fd, int by_handle_fd, size_t max_fds)
    : root_fd_(root_fd), by_handle_fd_(by_handle_fd), max_fds_(max_fds), numbers_(device_of(root_fd)) {
  root_.id = kRootObject;
  root_.node = kRootNode;
  root_.type = S_IFDIR;
  root_.fd = root_fd_;
  root_.pinned = true;
  root_.lookups = 1;
  struct statx s;
  if (stat_at(root_fd_, "", &s) == 0) root_.key = key_of(s);
  root_.search.bound = &meet(root_.key);
}

const std::atomic<bool>& InodeTable::meet(const FileKey& key) {
  auto [at, added] = devices_.try_emplace(key.dev);
  if (added) at->second.mount = key.mount;
  if (at->second.mount != key.mount) at->second.bound = true;
  return at->second.bound;
}

int InodeTable::stat_at(int dirfd, const char* name, struct statx* s) {
  about_to_wait();
  int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH;
  if (statx(dirfd, name, flags, STATX_BASIC_STATS | STATX_BTIME | kMountId, s) != 0) return -errno;
  if (!(s->stx_mask & STATX_BTIME)) s->stx_btime = {handle_mark(dirfd, name), 0, {}};
  s->stx_ino = numbers_.shown(makedev(s->stx_dev_major, s->stx_dev_minor), s->stx_ino);
  return 0;
}

FileKey InodeTable::key_at(const struct statx& s, int fd, const Inode* parent, std::string_view name) {
  FileKey key = key_of(s);
  if (s.stx_nlink > 1 && !S_ISDIR(s.stx_mode) && parent && overlay_links_.apart(fd, key.dev) &&
      !overlay_links_.joined(mark_of(key)))
    key.link = name_hash(parent->id, name);
  return key;
}

void InodeTable::linked(const Inode* parent, int dirfd, const char* name) {
  struct statx s;
  if (overlay_links_.apart(dirfd, parent->key.dev) && stat_at(dirfd, name, &s) == 0) overlay_links_.join(mark_of(key_of(s)));
}

FileHandle InodeTable::handle_at(int dirfd, const char* name, const FileKey& key) const {
  // Through another mount, the handle would lead around that mount's restrictions.
  return by_handle_fd_ >= 0 && key.mount == root_.key.mount ? handle_of(dirfd, name) : nullptr;
}

// `fd` if it is open and stands for that file; else it is closed: -errno, -ESTALE for another file.
int InodeTable::verified(int fd, const FileKey& key) {
  if (fd < 0) return fd;
  struct statx s;
  int error = stat_at(fd, "", &s);
  if (error == 0 && still(key_of(s), key)) return fd;
  close(fd);
  return error != 0 ? error : -ESTALE;
}

InodeTable::~InodeTable() {
  for (auto& [key, inode] : inodes_)
    if (inode->fd >= 0) close(inode->fd);
  for (auto& inode : orphans_)
    if (inode->fd >= 0) close(inode->fd);
}

Inode* InodeTable::by_node(uint64_t node) {
  if (node == kRootNode) return &root_;
  Inode* inode = nodes_.find(node);
  return inode ? inode : &gone_;
}

ObjectId InodeTable::id_locked(const FileKey& key) {
  if (mark_of(key) == mark_of(root_.key)) return kRootObject;
  const ObjectId id = ids_.find_or_add(mark_of(key), next_id_);
  if (id == next_id_) ++next_id_;
  return id;
}

ObjectId InodeTable::id_of(const FileKey& key) {
  Guard guard(*this);
  return id_locked(key);
}

void InodeTable::Guard::unlock() {
  for (;;) {
    table_.mutex_.unlock();
    for (int fd : closing_) close(fd);
    closing_.clear();
    if (without_handle_.empty()) return;
    std::vector<FileHandle> handles;
    for (const Inode* inode : without_handle_) handles.push_back(handle_of(inode->fd, ""));
    table_.mutex_.lock();
    for (size_t i = 0; i < handles.size(); ++i) {
      Inode* inode = without_handle_[i];
      if (!inode->handle) inode->handle = std::move(handles[i]);
      // Another thread may use or have pinned it meanwhile.
      if (inode->users == 1 && !inode->pinned) table_.drop_fd(inode, *this);
      table_.release(inode, *this);
    }
    without_handle_.clear();
  }
}

void InodeTable::Guard::close_with_handle(Inode* inode) {
  ++inode->users;  // until then
  without_handle_.push_back(inode);
}

void InodeTable::settle(Inode* inode, Inode* parent, std::string_view name, Guard& guard) {
  if (inode == &root_) return;
  if (inode->parent != parent) {
    Inode* before = inode->parent;
    inode->parent = parent;
    if (parent) ++parent->children;
    if (before) {
      --before->children;
      erase_if_unused(before, guard);
    }
  }
  if (inode->name != name) inode->name = name;
}

Inode* InodeTable::find(const FileKey& key, Inode* parent, std::string_view name) {
  Guard guard(*this);
  Inode* inode = nullptr;
  if (key == root_.key) {
    inode = &root_;
  } else if (auto at = inodes_.find(key); at != inodes_.end()) {
    inode = at->second.get();
    settle(inode, parent, name, guard);
  }
  if (inode) ++inode->lookups;
  return inode;
}

Inode* InodeTable::add(const FileKey& key, uint32_t mode, Inode* parent, std::string_view name, int fd, FileHandle handle) {
  Guard guard(*this);
  if (key == root_.key) {
    if (fd >= 0) guard.close_later(fd);
    ++root_.lookups;
    return &root_;
  }
  auto [at, added] = inodes_.try_emplace(key);
  if (added) {
    at->second = std::make_unique<Inode>();
    at->second->key = key;
    at->second->node = nodes_.give(at->second.get());
    at->second->id = id_locked(key);
    at->second->type = mode & S_IFMT;
    at->second->search.bound = &meet(key);
  }
  Inode* inode = at->second.get();
  ++inode->lookups;
  settle(inode, parent, name, guard);
  if (!inode->handle) inode->handle = std::move(handle);
  if (fd < 0) return inode;
  if (inode->fd >= 0)
    guard.close_later(fd);
  else
    hold(inode, fd);
  ++inode->users;  // not the one to be evicted
  evict(max_fds_, guard);
  release(inode, guard);
  return inode;
}

void InodeTable::hold(Inode* inode, int fd) {
  inode->fd = fd;
  if (!inode->pinned) {
    recent_.push_front(inode);
    inode->recent = recent_.begin();
  }
}

void InodeTable::drop_fd(Inode* inode, Guard& guard) {
  if (inode->fd < 0) return;
  if (inode->pinned)
    give_back_pin(inode->pinned_for);
  else
    recent_.erase(inode->recent);
  inode->pinned = false;
  guard.close_later(inode->fd);
  inode->fd = -1;
}

void InodeTable::evict(size_t down_to, Guard& guard) {
  size_t kept = recent_.size();
  auto at = recent_.end();
  while (kept > down_to && at != recent_.begin()) {
    Inode* inode = *std::prev(at);
    if (inode->users != 0) {
      --at;
      continue;
    }
    --kept;
    if (by_handle_fd_ >= 0 && !inode->handle && inode->key.mount == root_.key.mount) {
      guard.close_with_handle(inode);
      --at;
    } else {
      drop_fd(inode, guard);
    }
  }
}

void InodeTable::shrink() {
  Guard guard(*this);
  evict(recent_.size() / 2, guard);
}

int InodeTable::open_handle(const Inode* inode, std::byte* handle) {
  if (!handle) return -ESTALE;
  const int fd = open_by_handle_at(by_handle_fd_, reinterpret_cast<file_handle*>(handle), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  return verified(fd < 0 ? -errno : fd, inode->key);
}

// Opens the closed ancestors of a directory from the top down, so that reopen() need not call itself for each level of a deep
// tree.
void InodeTable::open_ancestors(const Inode* directory) {
  std::vector<Inode*> closed;
  {
    Guard guard(*this);
    for (Inode* i = directory->parent; i && i->fd < 0; i = i->parent) {
      ++i->users;
      closed.push_back(i);
    }
  }
  Inode* above = nullptr;  // stays open until the next one is
  for (auto at = closed.rbegin(); at != closed.rend(); ++at) {
    const int fd = acquire(*at);
    release(*at);
    if (above) release(above);
    above = fd >= 0 ? *at : nullptr;
  }
  if (above) release(above);
}

// Opens a descriptor of the inode. Call this without the mutex. Users keep the inode, its handle and its parent.
int InodeTable::reopen(const Inode* inode, std::byte* handle, Inode* parent, bool parent_is_open, const std::string& name) {
  about_to_wait();
  int fd = parent_is_open ? -ESTALE : open_handle(inode, handle);
  if (fd < 0 && parent) {
    open_ancestors(parent);
    LowerFd dir(*this, parent);
    if (dir.value() < 0) return dir.value();
    fd = openat(dir.value(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) fd = errno == ENOENT || errno == ENOTDIR ? -ESTALE : -errno;
    fd = verified(fd, inode->key);
  }
  if (fd == -ESTALE && parent_is_open) fd = open_handle(inode, handle);
  // The way to what an application has open may be closed to it by now.
  if ((fd == -ESTALE || fd == -EACCES) && inode->opens != 0) fd = open_by_instance(inode);
  return fd;
}

bool InodeTable::name_ends_with(const Inode* inode, std::string_view suffix) {
  Guard guard(*this);
  return inode->name.ends_with(suffix);
}

int InodeTable::stat(Inode* inode, struct statx* s) {
  Inode* used = inode;
  char name[NAME_MAX + 1] = "";
  int fd;
  {
    Guard guard(*this);
    if (inode->fd < 0 && inode->parent && (inode->parent->fd >= 0 || !inode->handle)) {
      used = inode->parent;
      name[inode->name.copy(name, NAME_MAX)] = 0;
    }
    fd = acquire(used, guard);
  }
  if (fd < 0) return fd;
  int error = stat_at(fd, name, s);
  release(used);
  if (used == inode || (error == 0 && still(key_of(*s), inode->key))) return error;
  fd = acquire(inode);
  if (fd < 0) return fd;
  error = stat_at(fd, "", s);
  release(inode);
  return error;
}

int InodeTable::acquire(Inode* inode, Guard& guard) {
  ++inode->users;
  bool short_of_descriptors = false;
  while (inode->fd < 0) {
    std::byte* handle = inode->handle.get();
    Inode* parent = inode->parent;
    const std::string name = inode->name;
    const bool parent_is_open = parent && parent->fd >= 0;
    if (parent) ++parent->users;
    guard.unlock();
    int fd = reopen(inode, handle, parent, parent_is_open, name);
    guard.lock();
    const bool moved = inode->parent != parent || inode->name != name;
    if (parent) release(parent, guard);
    if (inode->fd >= 0) {  // another thread has opened the object meanwhile, or has pinned it
      if (fd >= 0) guard.close_later(fd);
    } else if (fd >= 0) {
      hold(inode, fd);
      evict(max_fds_, guard);
    } else if ((fd == -EMFILE || fd == -ENFILE) && !short_of_descriptors) {
      short_of_descriptors = true;
      evict(recent_.size() / 2, guard);
    } else if (fd != -ESTALE || !moved) {
      release(inode, guard);
      return fd;
    }
  }
  if (!inode->pinned && inode->recent != recent_.begin()) recent_.splice(recent_.begin(), recent_, inode->recent);
  return inode->fd;
}

int InodeTable::acquire(Inode* inode) {
  Guard guard(*this);
  return acquire(inode, guard);
}

void InodeTable::release(Inode* inode, Guard& guard) {
  --inode->users;
  if (inode->lookups == 0) erase_if_unused(inode, guard);
}

void InodeTable::retain(Inode* inode) {
  Guard guard(*this);
  ++inode->users;
}

void InodeTable::release(Inode* inode) {
  Guard guard(*this);
  release(inode, guard);
}

void InodeTable::erase_if_unused(Inode* inode, Guard& guard) {
  while (inode && inode != &root_ && inode != &gone_ && inode->lookups == 0 && inode->users == 0 && inode->children == 0) {
    Inode* parent = inode->parent;
    drop_fd(inode, guard);
    if (!parent) ids_.erase(mark_of(inode->key));  // made by O_TMPFILE and never named: it can't come back
    nodes_.take_back(inode->node);
    auto at = inodes_.find(inode->key);
    if (at != inodes_.end() && at->second.get() == inode)
      inodes_.erase(at);
    else
      orphans_.remove_if([inode](const auto& orphan) { return orphan.get() == inode; });
    if (parent) --parent->children;
    inode = parent;
  }
}

bool InodeTable::is_last(const Inode& inode, uint64_t lookups) {
  Guard guard(*this);
  return inode.lookups <= lookups;
}

void InodeTable::forget(Inode* inode, uint64_t lookups) {
  Guard guard(*this);
  if (inode == &root_ || inode == &gone_) return;
  inode->lookups -= std::min(lookups, inode->lookups);
  erase_if_unused(inode, guard);
}

Inode* InodeTable::take_fd(const FileKey& key, int fd, Guard& guard) {
  auto at = inodes_.find(key);
  Inode* inode = at == inodes_.end() ? nullptr : at->second.get();
  if (inode && inode->fd < 0 && fd >= 0)
    hold(inode, fd);
  else if (fd >= 0)
    guard.close_later(fd);
  return inode;
}

bool InodeTable::pin(const FileKey& key, int fd, uid_t uid) {
  Guard guard(*this);
  Inode* inode = take_fd(key, fd, guard);
  if (!inode) return false;
  ++inode->removals;
  if (inode->pinned || inode->fd < 0 || !take_pin(uid)) return true;
  recent_.erase(inode->recent);
  inode->pinned = true;
  inode->pinned_for = uid;
  return true;
}

void InodeTable::keep(const FileKey& key, int fd) {
  Guard guard(*this);
  take_fd(key, fd, guard);
  evict(max_fds_, guard);
}

void InodeTable::unpin(const FileKey& key) {
  Guard guard(*this);
  auto at = inodes_.find(key);
  // Another may be removing it, or have done so.
  if (at == inodes_.end() || --at->second->removals != 0 || !at->second->pinned) return;
  at->second->pinned = false;
  give_back_pin(at->second->pinned_for);
  hold(at->second.get(), at->second->fd);
}

void InodeTable::moved(const FileKey& key, Inode* parent, std::string_view name) {
  Guard guard(*this);
  if (auto at = inodes_.find(key); at != inodes_.end()) settle(at->second.get(), parent, name, guard);
}

void InodeTable::removed(const FileKey& key) {
  overlay_links_.forget(mark_of(key));
  Guard guard(*this);
  ids_.erase(mark_of(key));
  auto at = inodes_.find(key);
  if (at == inodes_.end()) return;
  if (key.btime == 0) {
    orphans_.push_back(std::move(at->second));
    inodes_.erase(at);
  }
}

}  // namespace fsr::shim
