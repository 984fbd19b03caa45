// SPDX-License-Identifier: Apache-2.0
// The files of the underlying directory that the kernel knows, their identities in the trace, and O_PATH descriptors to reach
// them.
//
// Thread-safe: one mutex, held for table work and never over a system call on the underlying file system. A directory has a
// descriptor from its first lookup on. With it, an application can work in the directory even if other programs move or remove it
// outside of the capture. Other files get one when it is needed, many never. The number of descriptors is limited: the least
// recently used are closed, and opened again when needed. They are opened by parent and name, or by file handle if the file
// system can be trusted with it. A handle leads to a file that was moved outside of the capture. The identity is checked then. If
// another file has taken the name and there is no handle, the result is ESTALE, and the kernel looks the path up anew. A file
// that is about to lose a name is pinned: its descriptor stays until the kernel forgets the inode. It counts as a descriptor of
// the user who removes the name. If this user may have no more, the file is reachable while it is open or recently used.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backing_state.hpp"
#include "brief_mutex.hpp"
#include "entry_cache.hpp"
#include "identities.hpp"
#include "inode_numbers.hpp"
#include "node_ids.hpp"
#include "op.hpp"
#include "overlay_links.hpp"

namespace fsr::shim {

// Identity of a file: survives rename, and differs for a reused inode number if the file system has birth times.
struct FileKey {
  uint64_t dev = 0;
  uint64_t ino = 0;
  int64_t btime = 0;   // time of birth; if there is none, a mark from the file handle
  uint64_t link = 0;   // hash of parent and name, if each name is a file of its own (OverlayLinks)
  uint64_t mount = 0;  // mount through which the file was reached; rights and parent differ from mount to mount
  bool operator==(const FileKey&) const = default;
};

FileKey key_of(const struct statx& s);
// True: a name that stood for `known` still stands for it.
inline bool still(const FileKey& found, FileKey known) {
  known.link = 0;
  return found == known;
}

// Counts the removals and renames in a directory through this capture. A lookup that overlapped one opens the file that it found,
// because nothing else keeps that file reachable.
class NameChanges {
 public:
  // Lives during a change: from before the search for the name's inode in the table until after the change.
  class Scope {
   public:
    explicit Scope(NameChanges& changes) : changes_(changes) { changes_.running_.fetch_add(1); }
    ~Scope() {
      changes_.done_.fetch_add(1);
      changes_.running_.fetch_sub(1);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    NameChanges& changes_;
  };
  uint32_t done() const { return done_.load(); }
  // True: a change is in progress, or one was done since done() returned `then`.
  bool since(uint32_t then) const { return running_.load() != 0 || done_.load() != then; }

 private:
  std::atomic<uint32_t> running_{0}, done_{0};
};

using FileHandle = std::unique_ptr<std::byte[]>;  // struct file_handle; null: none that may be used

struct Inode {
  FileKey key;
  uint64_t node = 0;  // the kernel's number for it
  ObjectId id = kNoObject;
  uint32_t type = 0;  // S_IFMT bits
  SearchState search;
  std::atomic<uint32_t> opens{0};      // open instances
  std::atomic<int64_t> kept_until{0};  // CLOCK_MONOTONIC_COARSE, ns: until then the kernel may keep an entry for it
  std::atomic<uint32_t> removals{0};   // removals of its last name through this capture, done or in progress
  NameChanges name_changes;            // directories only
  BackingState backing;                // regular files only; guarded by Backings

  // Guarded by the table.
  uint64_t lookups = 0;
  uint32_t users = 0;     // LowerFds that exist or are being opened; they keep the inode and its descriptor
  uint32_t children = 0;  // inodes that name this one as parent
  int fd = -1;
  bool pinned = false;
  uid_t pinned_for = 0;  // user whose descriptor that is
  Inode* parent = nullptr;
  std::string name;
  FileHandle handle;
  std::list<Inode*>::iterator recent;  // valid while fd >= 0 and neither pinned nor root
};

class InodeTable {
 public:
  // Borrows `root_fd` (O_PATH). `by_handle_fd`: a readable descriptor of the same file system when its file handles may be used,
  // else -1. `max_fds` bounds the descriptors held here.
  InodeTable(int root_fd, int by_handle_fd, size_t max_fds);
  // Opens an O_PATH descriptor through an open instance, for an inode without a known name. Set before use.
  std::function<int(const Inode*)> open_by_instance = [](const Inode*) { return -ESTALE; };
  // Count a pinned descriptor as the user's, and no longer. take_pin: false: the user may have no more. They never block. Set
  // before use.
  std::function<bool(uid_t)> take_pin = [](uid_t) { return true; };
  std::function<void(uid_t)> give_back_pin = [](uid_t) {};
  ~InodeTable();

  Inode* root() { return &root_; }
  // Reads the attributes of a name below `dirfd`, or of `dirfd` itself (""). Follows no symlink. Without STATX_BTIME in stx_mask,
  // stx_btime is a mark that tells files apart. The inode number is the one that applications see. Returns 0 or -errno.
  int stat_at(int dirfd, const char* name, struct statx* s);
  // Returns the key of the file that a name in a directory stands for, on the file system of `fd`. Null parent: it has no name.
  FileKey key_at(const struct statx& s, int fd, const Inode* parent, std::string_view name);
  void linked(const Inode* parent, int dirfd, const char* name);  // notes a new name of an existing file
  uint64_t shown_ino(uint64_t device, uint64_t ino) { return numbers_.shown(device, ino); }
  // Returns the inode with this number of the kernel's. For an invalid number: an inode whose file can't be opened (ESTALE).
  // Never blocks.
  Inode* by_node(uint64_t node);
  // Returns the inode of `key`, and counts one more lookup of it. Null: not in the table. Remembers parent and name.
  Inode* find(const FileKey& key, Inode* parent, std::string_view name);
  // Does what find() does, and adds the inode if it is not in the table. Takes over `fd`; -1: opens one when needed.
  Inode* add(const FileKey& key, uint32_t mode, Inode* parent, std::string_view name, int fd, FileHandle handle = nullptr);
  // Reads the handle of a name below `dirfd`, or of `dirfd` itself (""), which was found to be the file of that key.
  FileHandle handle_at(int dirfd, const char* name, const FileKey& key) const;
  // Returns the number of a file for the trace, without counting a lookup.
  ObjectId id_of(const FileKey& key);
  // Returns whether forget() with as many lookups leaves none.
  bool is_last(const Inode& inode, uint64_t lookups);
  void forget(Inode* inode, uint64_t lookups);
  // Called before a name is removed. They keep the inode reachable if the kernel knows it: pin() always, keep() only while there
  // are enough descriptors, for files with other names. Both take over `fd`; -1: the inode has a descriptor.
  bool pin(const FileKey& key, int fd, uid_t uid);  // true: the kernel knows the inode
  void keep(const FileKey& key, int fd);
  void unpin(const FileKey& key);  // after pin() has returned true: the name was not removed
  void moved(const FileKey& key, Inode* parent, std::string_view name);
  // Called when the last name of a file is removed: forgets its identity. (Without birth times, its number may be reused.)
  void removed(const FileKey& key);
  // Closes the less recently used half, for a caller that got EMFILE.
  void shrink();

  bool name_ends_with(const Inode* inode, std::string_view suffix);
  int stat(Inode* inode, struct statx* s);  // 0 or -errno
  int acquire(Inode* inode);                // descriptor, or -errno
  void retain(Inode* inode);                // keeps an inode of the table, until release()
  void release(Inode* inode);

 private:
  struct KeyHash {
    size_t operator()(const FileKey& k) const {
      uint64_t h = k.ino * 0x9e3779b97f4a7c15u ^ (k.dev + uint64_t(k.btime)) * 0xc2b2ae3d27d4eb4fu;
      return size_t(h ^ h >> 29);
    }
  };

  // Holds the mutex. Descriptors that are dropped meanwhile are closed after the mutex is released.
  class Guard {
   public:
    explicit Guard(InodeTable& table) : table_(table) { lock(); }
    ~Guard() { unlock(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    void lock() { table_.mutex_.lock(); }
    void unlock();
    void close_later(int fd) { closing_.push_back(fd); }
    // Closes the descriptor when a handle replaces the descriptor.
    void close_with_handle(Inode* inode);

   private:
    InodeTable& table_;
    std::vector<int> closing_;
    std::vector<Inode*> without_handle_;
  };

  struct Device {
    uint64_t mount = 0;              // mount through which it was reached first
    std::atomic<bool> bound{false};  // true: it was reached through another mount, too
  };

  const std::atomic<bool>& meet(const FileKey& key);
  int verified(int fd, const FileKey& key);
  int acquire(Inode* inode, Guard& guard);
  int open_handle(const Inode* inode, std::byte* handle);
  void open_ancestors(const Inode* directory);
  int reopen(const Inode* inode, std::byte* handle, Inode* parent, bool parent_is_open, const std::string& name);
  void release(Inode* inode, Guard& guard);
  void hold(Inode* inode, int fd);
  Inode* take_fd(const FileKey& key, int fd, Guard& guard);
  void drop_fd(Inode* inode, Guard& guard);
  void evict(size_t down_to, Guard& guard);
  void settle(Inode* inode, Inode* parent, std::string_view name, Guard& guard);
  void erase_if_unused(Inode* inode, Guard& guard);
  ObjectId id_locked(const FileKey& key);

  const int root_fd_, by_handle_fd_;
  const size_t max_fds_;
  InodeNumbers numbers_;
  OverlayLinks overlay_links_;
  BriefMutex mutex_;
  Inode root_, gone_;
  std::map<uint64_t, Device> devices_;
  NodeIds nodes_;
  std::unordered_map<FileKey, std::unique_ptr<Inode>, KeyHash> inodes_;
  Identities ids_;                             // outlive forget: an object keeps its number
  std::list<std::unique_ptr<Inode>> orphans_;  // inodes whose key may stand for another file now
  std::list<Inode*> recent_;                   // front: most recently used
  ObjectId next_id_ = kRootObject + 1;
};

// The descriptor of an inode while this lives. value() is negative: -errno.
class LowerFd {
 public:
  LowerFd(InodeTable& table, Inode* inode) : table_(table), inode_(inode), fd_(table.acquire(inode)) {}
  ~LowerFd() {
    if (fd_ >= 0) table_.release(inode_);
  }
  LowerFd(const LowerFd&) = delete;
  LowerFd& operator=(const LowerFd&) = delete;
  int value() const { return fd_; }

 private:
  InodeTable& table_;
  Inode* inode_;
  int fd_;
};

}  // namespace fsr::shim
