// SPDX-License-Identifier: Apache-2.0
#include "inode_table.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

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
  uint64_t birth = uint64_t(s.stx_btime.tv_sec) * 1'000'000'000 + s.stx_btime.tv_nsec;  // wraps in 2554: still tells files apart
  return {makedev(s.stx_dev_major, s.stx_dev_minor), s.stx_ino, int64_t(birth), s.stx_mnt_id};
}

// Stands for a time of birth where the file system tells none (NFS): a file's handle holds its generation. 0 without handles.
static int64_t handle_mark(int dirfd, const char* name) {
  alignas(file_handle) char memory[sizeof(file_handle) + MAX_HANDLE_SZ];
  auto* handle = new (memory) file_handle;
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount_id;
  if (name_to_handle_at(dirfd, name, handle, &mount_id, AT_EMPTY_PATH) != 0) return 0;
  return int64_t(XXH3_64bits(handle->f_handle, handle->handle_bytes) >> 34);  // as seconds it fits into ns
}

// The same in each mount: to the trace it is one file.
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
}

int InodeTable::stat_at(int dirfd, const char* name, struct statx* s) {
  int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH;
  if (statx(dirfd, name, flags, STATX_BASIC_STATS | STATX_BTIME | kMountId, s) != 0) return -errno;
  if (!(s->stx_mask & STATX_BTIME)) s->stx_btime = {handle_mark(dirfd, name), 0, {}};
  s->stx_ino = numbers_.shown(makedev(s->stx_dev_major, s->stx_dev_minor), s->stx_ino);
  return 0;
}

// `fd` if it is open and stands for that file; else it is closed: -errno, -ESTALE for another file.
int InodeTable::verified(int fd, const FileKey& key) {
  if (fd < 0) return fd;
  struct statx s;
  int error = stat_at(fd, "", &s);
  if (error == 0 && key_of(s) == key) return fd;
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
  std::lock_guard lock(mutex_);
  return id_locked(key);
}

void InodeTable::settle(Inode* inode, Inode* parent, std::string_view name) {
  if (inode == &root_) return;
  if (inode->parent != parent) {
    Inode* before = inode->parent;
    inode->parent = parent;
    if (parent) ++parent->children;
    if (before) {
      --before->children;
      erase_if_unused(before);
    }
  }
  if (inode->name != name) inode->name = name;
}

Inode* InodeTable::find(const FileKey& key, Inode* parent, std::string_view name) {
  std::lock_guard lock(mutex_);
  Inode* inode = nullptr;
  if (key == root_.key) {
    inode = &root_;
  } else if (auto at = inodes_.find(key); at != inodes_.end()) {
    inode = at->second.get();
    settle(inode, parent, name);
  }
  if (inode) ++inode->lookups;
  return inode;
}

Inode* InodeTable::add(const FileKey& key, uint32_t mode, Inode* parent, std::string_view name, int fd) {
  std::lock_guard lock(mutex_);
  if (key == root_.key) {
    close(fd);
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
    at->second->search.other_mount = key.mount != root_.key.mount;
  }
  Inode* inode = at->second.get();
  ++inode->lookups;
  settle(inode, parent, name);
  if (fd < 0) return inode;
  if (inode->fd >= 0)
    close(fd);
  else
    hold(inode, fd);
  ++inode->users;  // not the one to be evicted
  evict(max_fds_);
  release_locked(inode);
  return inode;
}

void InodeTable::hold(Inode* inode, int fd) {
  inode->fd = fd;
  if (!inode->pinned) {
    recent_.push_front(inode);
    inode->recent = recent_.begin();
  }
}

void InodeTable::drop_fd(Inode* inode) {
  if (inode->fd < 0) return;
  if (!inode->pinned) recent_.erase(inode->recent);
  close(inode->fd);
  inode->fd = -1;
}

void InodeTable::evict(size_t down_to) {
  auto at = recent_.end();
  while (recent_.size() > down_to && at != recent_.begin()) {
    Inode* inode = *std::prev(at);
    if (inode->users != 0) {
      --at;
      continue;
    }
    if (by_handle_fd_ >= 0 && !inode->handle && inode->key.mount == root_.key.mount) {
      auto memory = std::make_unique<std::byte[]>(sizeof(file_handle) + MAX_HANDLE_SZ);
      auto* handle = new (memory.get()) file_handle;
      handle->handle_bytes = MAX_HANDLE_SZ;
      int mount_id;
      if (name_to_handle_at(inode->fd, "", handle, &mount_id, AT_EMPTY_PATH) == 0) {
        size_t size = sizeof(file_handle) + handle->handle_bytes;
        inode->handle = std::make_unique<std::byte[]>(size);
        memcpy(inode->handle.get(), memory.get(), size);
      }
    }
    drop_fd(inode);
  }
}

void InodeTable::shrink() {
  std::lock_guard lock(mutex_);
  evict(recent_.size() / 2);
}

int InodeTable::reopen(Inode* inode) {
  int fd = -ESTALE;
  if (inode->handle) {
    auto* handle = reinterpret_cast<file_handle*>(inode->handle.get());
    fd = verified(open_by_handle_at(by_handle_fd_, handle, O_PATH | O_NOFOLLOW | O_CLOEXEC), inode->key);
  }
  if (fd < 0 && inode->parent) {
    int parent = acquire_locked(inode->parent);
    if (parent < 0) return parent;
    fd = openat(parent, inode->name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int error = errno;
    release_locked(inode->parent);
    if (fd < 0) fd = error == ENOENT || error == ENOTDIR ? -ESTALE : -error;
    fd = verified(fd, inode->key);
  }
  if (fd == -ESTALE && inode->opens != 0) fd = verified(open_by_instance(inode), inode->key);
  return fd;
}

bool InodeTable::name_ends_with(const Inode* inode, std::string_view suffix) {
  std::lock_guard lock(mutex_);
  return inode->name.ends_with(suffix);
}

int InodeTable::stat(Inode* inode, struct statx* s) {
  Inode* used = inode;
  char name[NAME_MAX + 1] = "";
  int fd;
  {
    std::lock_guard lock(mutex_);
    if (inode->fd < 0 && !inode->handle && inode->parent) {
      used = inode->parent;
      name[inode->name.copy(name, NAME_MAX)] = 0;
    }
    fd = acquire_locked(used);
  }
  if (fd < 0) return fd;
  int error = stat_at(fd, name, s);
  release(used);
  if (used == inode || (error == 0 && key_of(*s) == inode->key)) return error;
  fd = acquire(inode);
  if (fd < 0) return fd;
  error = stat_at(fd, "", s);
  release(inode);
  return error;
}

int InodeTable::acquire_locked(Inode* inode) {
  if (inode->fd < 0) {
    int fd = reopen(inode);
    if (fd == -EMFILE || fd == -ENFILE) {
      evict(recent_.size() / 2);
      fd = reopen(inode);
    }
    if (fd < 0) return fd;
    hold(inode, fd);
    ++inode->users;
    evict(max_fds_);
    return inode->fd;
  }
  if (!inode->pinned && inode->recent != recent_.begin()) recent_.splice(recent_.begin(), recent_, inode->recent);
  ++inode->users;
  return inode->fd;
}

int InodeTable::acquire(Inode* inode) {
  std::lock_guard lock(mutex_);
  return acquire_locked(inode);
}

void InodeTable::release_locked(Inode* inode) {
  --inode->users;
  if (inode->lookups == 0) erase_if_unused(inode);
}

void InodeTable::release(Inode* inode) {
  std::lock_guard lock(mutex_);
  release_locked(inode);
}

void InodeTable::erase_if_unused(Inode* inode) {
  while (inode && inode != &root_ && inode->lookups == 0 && inode->users == 0 && inode->children == 0) {
    Inode* parent = inode->parent;
    drop_fd(inode);
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

void InodeTable::forget(Inode* inode, uint64_t lookups) {
  std::lock_guard lock(mutex_);
  if (inode == &root_ || inode == &gone_) return;
  inode->lookups -= std::min(lookups, inode->lookups);
  erase_if_unused(inode);
}

Inode* InodeTable::take_fd(const FileKey& key, int fd) {
  auto at = inodes_.find(key);
  Inode* inode = at == inodes_.end() ? nullptr : at->second.get();
  if (inode && inode->fd < 0 && fd >= 0)
    hold(inode, fd);
  else if (fd >= 0)
    close(fd);
  return inode;
}

bool InodeTable::pin(const FileKey& key, int fd) {
  std::lock_guard lock(mutex_);
  Inode* inode = take_fd(key, fd);
  if (!inode) return false;
  ++inode->removals;
  if (inode->pinned || inode->fd < 0) return true;
  recent_.erase(inode->recent);
  inode->pinned = true;
  return true;
}

void InodeTable::keep(const FileKey& key, int fd) {
  std::lock_guard lock(mutex_);
  take_fd(key, fd);
  evict(max_fds_);
}

void InodeTable::unpin(const FileKey& key) {
  std::lock_guard lock(mutex_);
  auto at = inodes_.find(key);
  // Another may be removing it, or have done so.
  if (at == inodes_.end() || --at->second->removals != 0 || !at->second->pinned) return;
  at->second->pinned = false;
  hold(at->second.get(), at->second->fd);
}

void InodeTable::moved(const FileKey& key, Inode* parent, std::string_view name) {
  std::lock_guard lock(mutex_);
  if (auto at = inodes_.find(key); at != inodes_.end()) settle(at->second.get(), parent, name);
}

void InodeTable::removed(const FileKey& key) {
  std::lock_guard lock(mutex_);
  ids_.erase(mark_of(key));
  auto at = inodes_.find(key);
  if (at == inodes_.end()) return;
  if (key.btime == 0) {
    orphans_.push_back(std::move(at->second));
    inodes_.erase(at);
  }
}

}  // namespace fsr::shim
