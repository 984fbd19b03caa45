// SPDX-License-Identifier: Apache-2.0
// Performs operations on a directory of the local machine by synchronous system calls. Thread-safe.
//
// Operations reach only files below the root (see objects.hpp). Some need `privileged`: otherwise set-id bits are left out and
// counted, and device nodes, trusted and security xattrs, whiteouts and ioctls are refused with EPERM. (A caller asks
// expressible() first.)
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/target.hpp"
#include "direct_io.hpp"
#include "objects.hpp"

struct statx;

namespace fsr {

// A buffer for one outcome, aligned for O_DIRECT. Its memory is reused for the next outcome.
class ReplyBuffer {
 public:
  ~ReplyBuffer();
  ReplyBuffer() = default;
  ReplyBuffer(const ReplyBuffer&) = delete;
  ReplyBuffer& operator=(const ReplyBuffer&) = delete;
  char* need(size_t bytes);  // returns room for `bytes` or more; null: no memory

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

struct FileReply {
  ReplyBuffer data;
  std::string names;
  std::vector<DirEntry> entries;
  LatestDirectory latest;  // for requests of a thread that is alone
};

enum class FileAccess : uint8_t {
  as_recorded,
  by_absolute_path,  // on a mounted 9P: each file is found anew from the mount point
  by_relative_path,  // on a mounted 9P: each file is found anew from the current directory
  direct,            // files are opened with O_DIRECT even if that was not recorded
  past_cache,        // on a mounted NFS: O_DIRECT, and the kernel's client is made to ask its server for each operation
};

class FileTree {
 public:
  FileTree(UniqueFd root, const TargetOptions& options, FileAccess access);

  static Fidelity expressible(const Op& op, bool privileged);
  // True: FileAccess::past_cache was requested, and the root is on a mounted NFS.
  bool past_cache() const { return past_cache_; }
  // Privileged, nothing is opened whose type is not known. Some ways of access send a lookup to a server on purpose.
  bool opens_by_name() const { return !options_.privileged && by_name_; }
  // Performs one operation and fills in the request's outcome, except its time. Returns EAGAIN in the outcome if another owner
  // holds the lock, even if the request would wait for it. The memory of the outcome is in `reply`. True: a lock may have been
  // released.
  bool perform(TargetRequest& request, FileReply& reply);
  // Does what ByName::by_name() says. `latest`: of the calling session.
  bool perform_by_name(const Op& op, LatestDirectory& latest, Outcome& outcome);

  FileObjects& objects() { return objects_; }
  const TargetOptions& options() const { return options_; }
  std::vector<std::pair<std::string, uint64_t>> counters() const;

 private:
  struct Context {
    const Op& op;
    TargetRequest& request;
    FileReply& reply;
    const Credentials* who;
    bool released = false;
    LatestDirectory* latest() const { return request.alone ? &reply.latest : nullptr; }
  };
  // A recorded owner of byte-range locks. Each has its own open file description, so that locks that it set through different
  // handles don't conflict with each other.
  struct LockOwner {
    ObjectId object;
    uint64_t owner;
    auto operator<=>(const LockOwner&) const = default;
  };
  struct Locking {
    std::shared_ptr<UniqueFd> fd;
    HandleId handle = 0;  // the handle that the owner locked through last
  };

  using Operation = int(Context& c);  // returns an errno
  Operation dispatch;
  Operation lookup, create, open_by_name, tmpfile, make, link, rename, readdir;  // of names
  int open_existing(Context& c, const PathAt& at);
  int remove(Context& c, int flags);
  Operation getattr, setattr, access, readlink, getxattr, setxattr, listxattr, removexattr, ioctl;
  Operation open, release, read, write, copy_range;
  Operation on_descriptor;  // fallocate, lseek, fsync, flush, syncfs, statfs
  Operation record_lock, flock;
  bool drop_owner(ObjectId object, uint64_t owner);
  void drop_owners(ObjectId object, HandleId handle,
                   bool last);  // releases the locks set through `handle`; `last`: all locks of the object

  // `latest`: where the directory is kept for the next operation; null: nowhere.
  int name_below(ObjectId parent, std::string_view name, PathAt* at, LatestDirectory* latest = nullptr);
  int open_path(const PathAt& at, int flags, UniqueFd* fd);
  int descriptor(const Op& op, HandleId handle, ObjectId object, int access, OpenRef* open);
  // requests past the kernel client's cache: tree_past_cache.cpp
  void ask_server(Context& c);
  void ask_attributes(Context& c);
  void ask_name(Context& c);
  int access_anew(Context& c);
  void leave_uncommitted(Context& c);
  uint64_t list_anew(OpKind kind, OpenFile& open);
  int wanted_attr(Context& c, int dir,
                  const char* name);  // attributes of a file that was just created, if the request wants them
  int finish_open(Context& c, int fd, uint32_t type, bool fresh);
  mode_t allowed_mode(uint32_t mode);
  int kept_flags(uint32_t flags) const;
  bool whole_blocks(const OpenFile& open, const Op& op);
  bool without_direct(const Op& op, OpenFile& open, std::optional<DirectGuard>& guard);

  TargetOptions options_;
  FileObjects objects_;
  const bool by_name_;
  const bool past_cache_;
  const bool direct_;
  const bool plain_;  // true: files are opened as recorded, by the user of this process, without --privileged
  std::mutex locks_mutex_;
  std::map<LockOwner, Locking> lock_owners_;
  std::atomic<uint64_t> set_id_left_out_ = 0, direct_left_out_ = 0, unaligned_ = 0, refused_names_ = 0, without_descriptor_ = 0;
};

// Copies the attributes that statx() returned.
void fill_attr(const struct statx& from, Attr& to);
// Returns the path of a descriptor in /proc, for calls that take only paths. Following it leads to the file itself and no
// further.
std::array<char, 32> proc_path(int fd);
// Gets the attributes of a file, of a link itself. `name`: empty for that of `dir`. Returns 0 or an errno. EXDEV: a mount point.
int stat_name(int dir, const char* name, Attr& attr);

}  // namespace fsr
