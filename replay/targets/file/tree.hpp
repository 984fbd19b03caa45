// SPDX-License-Identifier: Apache-2.0
// Operations on a directory of the local machine, as synchronous system calls. Thread-safe.
//
// Nothing outside the root can be reached (see objects.hpp). Not done without `privileged`: set-id bits are left out and counted;
// device nodes, trusted and security xattrs, whiteouts and ioctls are refused with EPERM (a caller asks expressible() first).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/target.hpp"
#include "objects.hpp"

struct statx;

namespace fsr {

// Memory for one answer, aligned for O_DIRECT; kept for the next one.
class ReplyBuffer {
 public:
  ~ReplyBuffer();
  ReplyBuffer() = default;
  ReplyBuffer(const ReplyBuffer&) = delete;
  ReplyBuffer& operator=(const ReplyBuffer&) = delete;
  char* need(size_t bytes);  // at least that many; null when there is no memory

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

struct FileReply {
  ReplyBuffer data;
  std::string names;
  std::vector<DirEntry> entries;
};

enum class FileAccess : uint8_t {
  as_recorded,
  direct,      // files are opened with O_DIRECT whether that was recorded or not
  past_cache,  // so they are, and on a mounted NFS the client is made to ask its server for each operation
};

class FileTree {
 public:
  FileTree(UniqueFd root, const TargetOptions& options, FileAccess access);

  static Fidelity expressible(const Op& op, bool privileged);
  // Whether that was asked for, and the root is on a mounted NFS.
  bool past_cache() const { return past_cache_; }
  // Performs one operation and fills in everything of the request's outcome but its time. A lock held by somebody else is EAGAIN
  // also where the request would wait. What the outcome points to lives in `reply`. True: a lock may have been released.
  bool perform(Request& request, FileReply& reply);

  FileObjects& objects() { return objects_; }
  const TargetOptions& options() const { return options_; }
  std::vector<std::pair<std::string, uint64_t>> counters() const;

 private:
  struct Context {
    const Op& op;
    Request& request;
    FileReply& reply;
    const Credentials* who;
    bool released = false;
  };
  // A lock owner's own open file description, so that its locks don't conflict with each other whatever handle they came by.
  struct LockOwner {
    ObjectId object;
    uint64_t owner;
    auto operator<=>(const LockOwner&) const = default;
  };
  struct Locking {
    std::shared_ptr<UniqueFd> fd;
    HandleId handle = 0;  // that the owner locked through
  };

  int dispatch(Context& c);
  // names
  int lookup(Context& c);
  int create(Context& c);
  int open_existing(Context& c, const PathAt& at);
  int tmpfile(Context& c);
  int make(Context& c);
  int link(Context& c);
  int remove(Context& c, int flags);
  int rename(Context& c);
  int readdir(Context& c);
  // attributes
  int getattr(Context& c);
  int setattr(Context& c);
  int access(Context& c);
  int readlink(Context& c);
  int getxattr(Context& c);
  int setxattr(Context& c);
  int listxattr(Context& c);
  int removexattr(Context& c);
  int ioctl(Context& c);
  // data
  int open(Context& c);
  int release(Context& c);
  int read(Context& c);
  int write(Context& c);
  int copy_range(Context& c);
  int on_descriptor(Context& c);  // fallocate, lseek, fsync, flush, syncfs, statfs
  // locks
  int record_lock(Context& c);
  int flock(Context& c);
  bool drop_owner(ObjectId object, uint64_t owner);
  void drop_owners(ObjectId object, HandleId handle, bool last);  // what was locked through the handle; last: all of the object

  int name_below(ObjectId parent, std::string_view name, PathAt* place);
  int open_place(const PathAt& place, int flags, UniqueFd* fd);
  int descriptor(const Op& op, HandleId handle, ObjectId object, int access, OpenRef* open);
  // past the client's cache: tree_past_cache.cpp
  void ask_server(Context& c);
  void ask_attributes(Context& c);
  void ask_name(Context& c);
  int access_anew(Context& c);
  void leave_uncommitted(Context& c);
  uint64_t list_anew(OpKind kind, OpenFile& open);
  int wanted_attr(Context& c, int dir, const char* name);  // of what was just made
  int finish_open(Context& c, int fd, uint32_t type, bool fresh);
  mode_t allowed_mode(uint32_t mode);
  int kept_flags(uint32_t flags) const;
  bool whole_blocks(const OpenFile& open, const Op& op);

  TargetOptions options_;
  FileObjects objects_;
  const bool past_cache_;
  const bool direct_;
  std::mutex locks_mutex_;
  std::map<LockOwner, Locking> lock_owners_;
  std::atomic<uint64_t> set_id_left_out_ = 0, direct_left_out_ = 0, unaligned_ = 0, refused_names_ = 0;
};

// What statx() told, as attributes.
void fill_attr(const struct statx& from, Attr& to);
// The path of a descriptor for calls that take paths only; following it leads to the file itself and no further.
std::array<char, 32> proc_path(int fd);

}  // namespace fsr
