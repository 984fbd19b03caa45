// SPDX-License-Identifier: Apache-2.0
#include "inode_table.hpp"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace fsr {

FileKey key_of(const struct statx& s) {
  int64_t btime = s.stx_mask & STATX_BTIME ? s.stx_btime.tv_sec * 1'000'000'000 + s.stx_btime.tv_nsec : 0;
  return {makedev(s.stx_dev_major, s.stx_dev_minor), s.stx_ino, btime};
}

int statx_at(int dirfd, const char* name, struct statx* s) {
  int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH;
  return statx(dirfd, name, flags, STATX_BASIC_STATS | STATX_BTIME, s) == 0 ? 0 : -errno;
}

InodeTable::InodeTable(int root_fd, int by_handle_fd, size_t max_fds)
    : root_fd_(root_fd), by_handle_fd_(by_handle_fd), max_fds_(max_fds) {
  root_.id = kRootObject;
  root_.type = S_IFDIR;
  root_.fd = root_fd_;
  root_.pinned = true;
  root_.lookups = 1;
  struct statx s;
  if (statx_at(root_fd_, "", &s) == 0) root_.key = key_of(s);
}

InodeTable::~InodeTable() {
  for (auto& [key, inode] : inodes_)
    if (inode->fd >= 0) close(inode->fd);
  for (auto& inode : orphans_)
    if (inode->fd >= 0) close(inode->fd);
}

ObjectId InodeTable::id_locked(const FileKey& key) {
  if (key == root_.key) return kRootObject;
  auto [at, added] = ids_.try_emplace(key, next_id_);
  if (added) ++next_id_;
  return at->second;
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
    at->second->id = id_locked(key);
    at->second->type = mode & S_IFMT;
  }
  Inode* inode = at->second.get();
  ++inode->lookups;
  settle(inode, parent, name);
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
    if (by_handle_fd_ >= 0 && !inode->handle && inode->key.dev == root_.key.dev) {
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
  struct statx s;
  int fd = -1;
  if (inode->handle)
    fd = open_by_handle_at(by_handle_fd_, reinterpret_cast<file_handle*>(inode->handle.get()), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && inode->parent) {
    int parent = acquire_locked(inode->parent);
    if (parent < 0) return parent;
    fd = openat(parent, inode->name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int error = errno;
    release_locked(inode->parent);
    if (fd < 0) return error == ENOENT || error == ENOTDIR ? -ESTALE : -error;
  }
  if (fd < 0) return -ESTALE;
  int error = statx_at(fd, "", &s);
  if (error == 0 && key_of(s) == inode->key) return fd;
  close(fd);
  return error != 0 ? error : -ESTALE;
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
  if (inode == &root_) return;
  inode->lookups -= std::min(lookups, inode->lookups);
  erase_if_unused(inode);
}

void InodeTable::pin(const FileKey& key) {
  std::lock_guard lock(mutex_);
  auto at = inodes_.find(key);
  if (at == inodes_.end() || at->second->pinned) return;
  Inode* inode = at->second.get();
  if (acquire_locked(inode) < 0) return;
  recent_.erase(inode->recent);
  inode->pinned = true;
  release_locked(inode);
}

void InodeTable::unpin(const FileKey& key) {
  std::lock_guard lock(mutex_);
  auto at = inodes_.find(key);
  if (at == inodes_.end() || !at->second->pinned) return;
  at->second->pinned = false;
  hold(at->second.get(), at->second->fd);
}

void InodeTable::moved(const FileKey& key, Inode* parent, std::string_view name) {
  std::lock_guard lock(mutex_);
  if (auto at = inodes_.find(key); at != inodes_.end()) settle(at->second.get(), parent, name);
}

void InodeTable::removed(const FileKey& key) {
  std::lock_guard lock(mutex_);
  ids_.erase(key);
  if (key.btime != 0) return;
  if (auto at = inodes_.find(key); at != inodes_.end()) {
    orphans_.push_back(std::move(at->second));
    inodes_.erase(at);
  }
}

}  // namespace fsr
