// SPDX-License-Identifier: Apache-2.0
// Serves FUSE requests from the underlying directory, and records each as one operation.
//
// Used by many threads. A request finds its inode's descriptor first (with the process's own rights), then acts as the caller;
// everything is relative to descriptors, no symlink is followed, and no path of an application is ever used. EntryCache decides
// what the kernel may keep. By default it keeps neither attributes nor data, so that every system call arrives. Errors are the
// underlying file system's own.
#pragma once

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 14)
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_set>

#include "backing.hpp"
#include "brief_mutex.hpp"
#include "credentials.hpp"
#include "fingerprint.hpp"
#include "in_flight_request.hpp"
#include "inode_table.hpp"
#include "lock_ranges.hpp"
#include "page_bases.hpp"
#include "process_table.hpp"
#include "recorder.hpp"
#include "strangers.hpp"
#include "user_shares.hpp"

namespace fsr::shim {

// Returns a time of a file as traces contain it: ns since 1970. Times before 1677 and after 2262 become the nearest possible one.
inline int64_t time_in_ns(int64_t seconds, int64_t nanoseconds) {
  int64_t ns;
  if (!__builtin_mul_overflow(seconds, 1'000'000'000, &ns) && !__builtin_add_overflow(ns, nanoseconds, &ns)) return ns;
  return seconds < 0 ? INT64_MIN : INT64_MAX;
}

// An open instance. Its underlying descriptors never append by themselves, because the kernel writes pages of mappings back
// through any that can write (an append-only file leaves no choice: its descriptor does).
struct OpenHandle {
  int fd = -1;                 // with the O_DIRECT that the application chose when it opened the file
  std::atomic<int> other{-1};  // the opposite choice of O_DIRECT; opened by the first request that needs it
  Inode* inode = nullptr;
  HandleId id = 0;
  int flags = 0;             // O_*, as the application opened it
  bool append_only = false;  // true: `fd` appends, because the file is append-only
  bool maps = false;         // true: Shim::backings counts it
  bool cached = false;       // true: cached by the kernel, only so that it can be mapped (before Linux 6.6)
  std::optional<OwnThread> opener;
  uid_t uid = 0;
  gid_t gid = 0;
  std::mutex position;                   // guards the underlying file position: appends, SEEK_DATA, readdir
  uint64_t cursor = 0;                   // readdir: where the underlying position stands
  std::atomic<bool> keeps_pages{false};  // true: its shared mappings may change pages that differ from those outside the capture
  std::atomic<bool> locked{false};       // true: a lock was granted through it
  std::atomic<bool> lock_files{false};   // true: LockFiles were made through it
  std::atomic<int64_t> flushed{INT64_MIN};  // recorder's time of the last flush: perhaps the close before a release
  ~OpenHandle();
};

class MappingRecorder;
class PageDrops;
struct Shim;

// One descriptor that is charged to a user, from charge() until its end.
class DescriptorShare {
 public:
  DescriptorShare() = default;
  ~DescriptorShare();
  DescriptorShare(const DescriptorShare&) = delete;
  DescriptorShare& operator=(const DescriptorShare&) = delete;
  bool charge(Shim& shim, uid_t uid);  // false: this user has reached the limit
  void keep() { shim_ = nullptr; }     // another object takes over the charge

 private:
  Shim* shim_ = nullptr;
  uid_t uid_ = 0;
};

// One underlying descriptor for all POSIX (or OFD) locks that one owner has on one file. Its locks are open-file-description
// locks, which conflict with other owners and programs, but never with the owner itself.
struct LockFile {
  int fd = -1;
  bool writable = false, readable = false;
  const OpenHandle* handle = nullptr;  // open instance through which it was made
  LockRanges ranges;                   // guarded by Shim::locks_mutex
  DescriptorShare share;
  ~LockFile();
};

struct LockKey {
  ObjectId file;  // the same number through each mount, although each mount has an inode for the file
  uint64_t owner;
  auto operator<=>(const LockKey&) const = default;
};

// State that all requests share. Set up before the session starts, and alive until the session has ended.
struct Shim {
  Shim(Recorder& recorder_arg, InodeTable& inodes_arg, int proc_fd_arg, Content content_arg, EntryCache::Settings cache,
       bool kernel_checks_arg, Mappings mappings, size_t base_bytes, UserShares::Limits descriptor_limits,
       UserShares::Limits thread_limits)
      : recorder(recorder_arg),
        inodes(inodes_arg),
        entries(std::move(cache)),
        proc_fd(proc_fd_arg),
        content(content_arg),
        kernel_checks(kernel_checks_arg),
        backings(mappings),
        page_bases(base_bytes),
        descriptors(descriptor_limits),
        waits(thread_limits) {
    inodes.open_by_instance = [this](const Inode* inode) { return open_by_instance(inode); };
    inodes.take_pin = [this](uid_t uid) {
      std::lock_guard counting(shares_mutex);
      return descriptors.try_take(uid);
    };
    inodes.give_back_pin = [this](uid_t uid) {
      std::lock_guard counting(shares_mutex);
      descriptors.give_back(uid);
    };
  }
  Recorder& recorder;
  InodeTable& inodes;
  EntryCache entries;
  ProcessTable processes;
  const int proc_fd;         // /proc/self/fd
  const Content content;     // recording of data that is read and written
  const bool kernel_checks;  // the kernel checks permissions, beside the underlying file system
  Backings backings;
  PageBases page_bases;                         // bases of pages that are mapped through FUSE
  MappingRecorder* mapping_recorder = nullptr;  // null: the kernel reports no page faults
  PageDrops* page_drops = nullptr;              // null: no mapping is one of an underlying file
  Strangers strangers;
  const pid_t self = gettid();  // the main thread, which makes one request that no application has made
  std::atomic<HandleId> next_handle{1};
  ~Shim();  // closes open instances that the kernel did not release before the connection ended
  BriefMutex handles_mutex;
  std::unordered_set<OpenHandle*> handles;
  std::set<std::pair<ObjectId, const OpenHandle*>>
      perhaps_going;                         // open instances that are locked and flushed; guarded by handles_mutex
  BriefMutex shares_mutex;                   // locked after the other mutexes
  UserShares descriptors;                    // descriptors of open files and locks; guarded by shares_mutex
  UserShares waits;                          // threads of lock requests that wait; guarded by shares_mutex
  int open_by_instance(const Inode* inode);  // returns an O_PATH descriptor, or -errno
  // Returns the processes, as "name (pid)", that have files open whose mappings differ from those outside the capture. A mapped
  // file counts as open, because the kernel keeps it open.
  std::string processes_keeping_pages();
  BriefMutex locks_mutex;
  std::map<LockKey, std::shared_ptr<LockFile>> locks;
  std::multimap<uint64_t, std::pair<ObjectId, LockRange>> lock_waits;  // by owner
};

// A request, from its arrival to its reply. Its operation is recorded between begin() and end(). Memory that `op` points to at
// begin() must stay unchanged until end().
class Request {
 public:
  Request(fuse_req_t req, OpKind kind);
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  Op op;
  Shim& shim;
  Caller caller;

  Inode* inode(fuse_ino_t ino);                  // does not change op
  OpenHandle* handle(const fuse_file_info* fi);  // sets op.handle; a request of the kernel's own gets the opener as its thread
  void begin();
  // Does what begin() does, for a request that may outlive its call. `ring`: no other request may use it meanwhile.
  void begin_in(Ring* ring) {
    ring_ = ring;
    begin();
  }
  void end(int error);   // ends the recording, before the reply; `error`: 0 or errno
  void fail(int error);  // ends the recording and replies with an errno
  void ok() { fail(0); }
  fuse_req_t req() const { return req_; }
  bool replied() const { return replied_; }  // true: fail() or ok() was called

  // Sets the attributes of the reply: points op.attr at attr_.
  void learned(const struct statx& s);
  // Call when the operation has made a file, after learned(). Records the permissions that the file has of those asked for: in a
  // directory with a default access list, the list takes the umask's place.
  void made(mode_t asked);
  // Call before a file is truncated or written. Clears set-id bits that a capability of a namespace below this process's would
  // keep, except S_ISGID of a file that its group may not execute.
  void changes_content(int fd);
  void set_attr(const Attr& set);
  // Records the data that was read or written, according to --content. Call before end(), while `data` is valid.
  void content(const char* data, size_t bytes);

 private:
  fuse_req_t req_;
  Ring* ring_ = nullptr;
  bool recorded_ = false, replied_ = false;
  Attr attr_, set_;
  OwnThread who_;
};

Ring* thread_ring(Shim& shim);  // ring of the calling thread, which the first call prepares; null: there is no memory for it
void to_stat(const struct statx& s, struct stat* out);
void to_attr(const struct statx& s, Attr* out);
// Looks a name up with the rights of the calling thread. Fills a FUSE entry that the kernel may keep for `timeout` seconds, and
// counts a lookup of the inode. Returns 0 or an errno.
int look_up(Request& r, int parent_fd, Inode* parent, const char* name, double timeout, fuse_entry_param* entry);
// Ends the recording and replies, with the process's own rights.
void answer_entry(Request& r, const fuse_entry_param& entry);
// Finds or adds the inode of a file that was just created under `name` and is open as `fd`. Returns 0 or an errno.
int adopt(Request& r, int fd, Inode* parent, const char* name, double timeout, fuse_entry_param* entry);
// True: a file has lost its last name outside the capture while the kernel may keep that name. ESTALE then makes the kernel look
// the path up anew. (A process that has the file open, or saw its removal through the capture, means this very file.)
bool replaced_behind(const Inode& inode, uint64_t links);
// Opens the underlying file of an O_PATH descriptor. If no descriptor is left, frees some and tries again. Returns fd or -errno.
int open_lower(Shim& shim, int path_fd, int flags);
// Calls openat(). If no descriptor is left, frees some and tries again. Returns fd or -errno.
int open_at(Shim& shim, int dirfd, const char* name, int flags, mode_t mode);
// Return which of the caller's rights are needed to open a file, and to create a name in a directory.
CallerScope::Extent extent_to_open(const Request& r, Inode& inode, int fd, int flags);
CallerScope::Extent extent_to_make(const Request& r, Inode& dir, int fd, mode_t mode);
// Makes an open instance for an underlying descriptor, and sets it in r.op and `fi`. drop_handle() ends it, and closes its
// descriptors.
OpenHandle* add_handle(Request& r, int fd, Inode* inode, fuse_file_info* fi);
void drop_handle(Shim& shim, OpenHandle* handle);
// True: this caller may open one more file. One user's open files must not take the descriptors that all others need.
bool may_open_more(Request& r);
// Returns the descriptor of an open file with O_DIRECT, or the one without. Opens it with the process's own rights.
int lower_fd(Shim& shim, OpenHandle* handle, bool direct);
void close_locks_of(Shim& shim, const Inode* inode, uint64_t owner);
void close_locks_through(Shim& shim, const OpenHandle* handle);
// Notes that a close of an open instance may be its last, which gives its locks up a moment later.
void note_flush(Shim& shim, OpenHandle* handle);
// Interrupted lock requests whose thread missed the signal are signalled again. Call this a few times per second.
void remind_interrupted_locks();
void interrupt_all_locks();
// Interrupts every lock request that waits, and returns when all have been answered. Their threads do not use the session, the
// Shim or the Recorder afterwards. No request may arrive any more. False: not all were answered within `seconds`.
bool finish_all_locks(int seconds);

// Keeps a handler's thread from being cancelled within the handler. libfuse cancels its threads for io_uring at a session's end.
template <auto handler>
struct Uncancelled;
template <class... Args, void (*handler)(Args...)>
struct Uncancelled<handler> {
  static void call(Args... args) {
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    handler(args...);
    note_answered();
    pthread_setcancelstate(before, nullptr);
  }
};
template <auto handler>
constexpr auto uncancelled = &Uncancelled<handler>::call;

// Turns strangers away from a handler whose outcome depends on the caller's rights.
bool turned_away(fuse_req_t req);
template <auto handler>
struct Identified;
template <class... Args, void (*handler)(fuse_req_t, Args...)>
struct Identified<handler> {
  static void call(fuse_req_t req, Args... args) {
    if (!turned_away(req)) handler(req, args...);
  }
};
template <auto handler>
constexpr auto identified = uncancelled<&Identified<handler>::call>;

// Each fills in the handlers of its area, uncancelled.
void add_session_operations(fuse_lowlevel_ops& ops);
void add_attribute_operations(fuse_lowlevel_ops& ops);
void add_name_operations(fuse_lowlevel_ops& ops);
void add_open_operations(fuse_lowlevel_ops& ops);
void add_data_operations(fuse_lowlevel_ops& ops);
void add_directory_operations(fuse_lowlevel_ops& ops);
void add_lock_operations(fuse_lowlevel_ops& ops);
void add_xattr_operations(fuse_lowlevel_ops& ops);

}  // namespace fsr::shim
