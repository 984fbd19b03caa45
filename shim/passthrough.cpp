// SPDX-License-Identifier: Apache-2.0
// Functions that every area of the pass-through uses, and the session's own requests (init, forget).
#include "passthrough.hpp"

#include "permission.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "connection.hpp"
#include "mapping_recorder.hpp"
#include "space_limits.hpp"
#include "special_files.hpp"
#include "util/debug_log.hpp"

namespace fsr::shim {

namespace {

constexpr size_t kMostNamedProcesses = 10;  // processes in one message

struct ThreadRing {
  Recorder* recorder = nullptr;
  Ring* ring = nullptr;
  ~ThreadRing() {
    if (ring) recorder->give_back(ring);
  }
};

int64_t ns(const statx_timestamp& t) { return time_in_ns(t.tv_sec, t.tv_nsec); }

timespec to_timespec(const statx_timestamp& t) { return {t.tv_sec, long(t.tv_nsec)}; }

void init(void* userdata, fuse_conn_info* conn) {
  const Shim& shim = *static_cast<Shim*>(userdata);
  negotiate(conn, shim.entries.keeps_data(), shim.kernel_checks);
}

Shim& shim_of(fuse_req_t req) { return *static_cast<Shim*>(fuse_req_userdata(req)); }

// The number without the mark of a stand-in: only the kernel distinguishes a file from its stand-in.
Inode* inode_of(Shim& shim, fuse_ino_t ino) { return shim.inodes.by_node(ino & ~kStandIn); }

void forget_one(Shim& shim, fuse_ino_t ino, uint64_t lookups) {
  Inode* inode = inode_of(shim, ino);
  // The kernel also forgets single lookups of a file that is in use, when a name that it knows leads to another file.
  if (shim.inodes.is_last(*inode, lookups)) {
    if (shim.mapping_recorder) shim.mapping_recorder->forgotten(*inode);
    shim.page_bases.forget(ino);
  }
  shim.inodes.forget(inode, lookups);
}

void forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups) {
  forget_one(shim_of(req), ino, lookups);
  fuse_reply_none(req);
}

void forget_multi(fuse_req_t req, size_t count, fuse_forget_data* forgets) {
  Shim& shim = shim_of(req);
  for (size_t i = 0; i < count; ++i) forget_one(shim, forgets[i].ino, forgets[i].nlookup);
  fuse_reply_none(req);
}

}  // namespace

Ring* thread_ring(Shim& shim) {
  thread_local ThreadRing mine;
  if (!mine.recorder) {
    prepare_thread(shim.proc_fd);
    mine.recorder = &shim.recorder;
  }
  if (!mine.ring) mine.ring = shim.recorder.borrow();
  return mine.ring;
}

void to_stat(const struct statx& s, struct stat* out) {
  *out = {};
  out->st_dev = makedev(s.stx_dev_major, s.stx_dev_minor);
  out->st_ino = s.stx_ino;
  out->st_mode = s.stx_mode;
  out->st_nlink = s.stx_nlink;
  out->st_uid = s.stx_uid;
  out->st_gid = s.stx_gid;
  out->st_rdev = makedev(s.stx_rdev_major, s.stx_rdev_minor);
  out->st_size = off_t(s.stx_size);
  out->st_blksize = blksize_t(s.stx_blksize);
  out->st_blocks = blkcnt_t(s.stx_blocks);
  out->st_atim = to_timespec(s.stx_atime);
  out->st_mtim = to_timespec(s.stx_mtime);
  out->st_ctim = to_timespec(s.stx_ctime);
}

void to_attr(const struct statx& s, Attr* out) {
  out->valid = kAttrMode | kAttrUid | kAttrGid | kAttrSize | kAttrNlink | kAttrAtime | kAttrMtime | kAttrCtime | kAttrBlocks;
  out->mode = s.stx_mode;
  out->uid = s.stx_uid;
  out->gid = s.stx_gid;
  out->size = s.stx_size;
  out->nlink = s.stx_nlink;
  out->blocks = s.stx_blocks;
  out->atime = ns(s.stx_atime);
  out->mtime = ns(s.stx_mtime);
  out->ctime = ns(s.stx_ctime);
  if (S_ISCHR(s.stx_mode) || S_ISBLK(s.stx_mode)) {
    out->valid |= kAttrRdev;
    out->rdev = makedev(s.stx_rdev_major, s.stx_rdev_minor);
  }
  if (s.stx_mask & STATX_BTIME) {
    out->valid |= kAttrBtime;
    out->btime = ns(s.stx_btime);
  }
}

Request::Request(fuse_req_t req, OpKind kind) : shim(shim_of(req)), req_(req) {
  const fuse_ctx* ctx = fuse_req_ctx(req);
  caller = Caller(ctx->uid, ctx->gid, ctx->pid, ctx->umask);
  note_request(kind, caller.tid);
  op.kind = kind;
  op.uid = ctx->uid;
  op.gid = ctx->gid;
  ring_ = thread_ring(shim);
}

bool turned_away(fuse_req_t req) {
  if (fuse_req_ctx(req)->pid != 0 || !shim_of(req).strangers.turn_away()) return false;
  fuse_reply_err(req, ESTALE);
  return true;
}

Inode* Request::inode(fuse_ino_t ino) { return inode_of(shim, ino); }

OpenHandle* Request::handle(const fuse_file_info* fi) {
  auto* h = reinterpret_cast<OpenHandle*>(fi->fh);
  op.handle = h->id;
  if (caller.tid == 0) {
    op.op_flags |= kOpKernel;
    if (h->opener) op.who = &(who_ = *h->opener);
    op.uid = caller.uid = h->uid;
    op.gid = caller.gid = h->gid;
  }
  return h;
}

void Request::begin() {
  if (caller.tid == shim.self) return;
  if (!op.who) op.who = &(who_ = shim.processes.find(caller.tid, shim.recorder.now()));
  op.thread = op.who->id;
  recorded_ = shim.recorder.begin(ring_, op);
}

// A debug line. The names of objects are those of fstrace dump.
static void log_request(const Op& op, const Caller& caller, int error) {
  std::string what = fmt::format("{} by thread {} of user {}, object {}", op_name(op.kind), caller.tid, op.uid, op.object);
  if (op.handle) what += fmt::format(", open instance {}", op.handle);
  if (!op.name.empty()) what += fmt::format(", name {}", op.name);
  log_line(LogArea::shim, fmt::format("{}: {}", what, error ? strerrorname_np(error) : "ok"));
}

void Request::end(int error) {
  if (logs(LogArea::shim, LogLevel::debug)) log_request(op, caller, error);
  op.error = error;
  if (error != 0) op.attr = nullptr;
  if (recorded_) shim.recorder.end(*ring_, op);
  recorded_ = false;
}

void Request::fail(int error) {
  end(error);
  replied_ = true;
  fuse_reply_err(req_, error);
}

void Request::learned(const struct statx& s) {
  to_attr(s, &attr_);
  op.attr = &attr_;
}

void Request::made(mode_t asked) { op.mode = (op.mode & ~mode_t(0777)) | (attr_.mode & asked & 0777); }

void Request::content(const char* data, size_t bytes) {
  if (shim.content == Content::none || !recorded_) return;
  if (shim.content == Content::full) {
    op.op_flags |= kOpData;
    op.data = {data, bytes};
    return;
  }
  static const FingerprintKey key = random_fingerprint_key();  // of this capture
  thread_local Fingerprinter prints(key);
  prints.take(op, data, bytes);
}

void Request::changes_content(int fd) {
  struct stat s;
  if (!caller.capabilities().below) return;
  if (fstat(fd, &s) != 0 || (s.st_mode & (S_ISUID | S_IXGRP)) != 0) caller.lose(capability(CAP_FSETID));
}

void Request::set_attr(const Attr& set) {
  set_ = set;
  op.set = &set_;
}

int open_at(Shim& shim, int dirfd, const char* name, int flags, mode_t mode) {
  about_to_wait();
  int fd = openat(dirfd, name, flags | O_CLOEXEC | O_NOCTTY, mode);
  if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
    shim.inodes.shrink();
    fd = openat(dirfd, name, flags | O_CLOEXEC | O_NOCTTY, mode);
  }
  return fd < 0 ? -errno : fd;
}

int open_lower(Shim& shim, int path_fd, int flags) {
  return open_at(shim, shim.proc_fd, FdPath(path_fd).text, flags & ~O_NOFOLLOW, 0);
}

static void fill_entry(Request& r, const struct statx& s, Inode* inode, double timeout, fuse_entry_param* entry) {
  *entry = {};
  entry->entry_timeout = is_special(s.stx_mode) && !r.shim.kernel_checks ? 0 : timeout;
  entry->attr_timeout = r.shim.entries.attr_timeout();
  entry->ino = inode->node;
  to_stat(s, &entry->attr);
  r.op.object = inode->id;
  r.learned(s);
}

// A file lies on the file system of its directory, unless something is mounted on it. (Directories may ignore case each by
// itself.)
static void inherit_file_system(const Inode& parent, Inode& inode) {
  if (S_ISDIR(inode.type) || inode.key.dev != parent.key.dev) return;
  inode.search.lower.store(parent.search.lower.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

// Makes sure that the inode stays reachable even if its name is removed. False: the name stands for another file by now.
static bool hold_on(Request& r, const Inode& inode, int parent_fd, const char* name) {
  int fd = open_at(r.shim, parent_fd, name, O_PATH | O_NOFOLLOW, 0);
  if (fd < 0) return fd != -ENOENT;
  struct statx s;
  if (r.shim.inodes.stat_at(fd, "", &s) != 0 || !still(key_of(s), inode.key)) {
    close(fd);
    return false;
  }
  r.shim.inodes.keep(inode.key, fd);
  return true;
}

int look_up(Request& r, int parent_fd, Inode* parent, const char* name, double timeout, fuse_entry_param* entry) {
  const uint32_t changes = parent->name_changes.done();
  struct statx s;
  int error = r.shim.inodes.stat_at(parent_fd, name, &s);
  if (error != 0) return -error;
  Inode* inode = r.shim.inodes.find(r.shim.inodes.key_at(s, parent_fd, parent, name), parent, name);
  if (!inode) {
    int fd = -1;
    const bool local = is_local(*parent, parent_fd);
    // A server may refuse to the process itself what it grants to this caller. A directory gets a descriptor because its name is
    // no way to it any more when somebody outside the capture has moved or removed it.
    if (!local || S_ISDIR(s.stx_mode)) {
      fd = open_at(r.shim, parent_fd, name, O_PATH | O_NOFOLLOW, 0);
      if (fd < 0 && !(local && (fd == -EMFILE || fd == -ENFILE))) return -fd;
    }
    if (fd >= 0) {
      // Again: the name may stand for another file by now.
      error = r.shim.inodes.stat_at(fd, "", &s);
      if (error != 0) {
        close(fd);
        return -error;
      }
    }
    const FileKey key = r.shim.inodes.key_at(s, parent_fd, parent, name);
    FileHandle handle = fd < 0 ? r.shim.inodes.handle_at(parent_fd, name, key) : nullptr;
    inode = r.shim.inodes.add(key, s.stx_mode, parent, name, fd, std::move(handle));
    inherit_file_system(*parent, *inode);
    if (fd < 0 && parent->name_changes.since(changes) && !hold_on(r, *inode, parent_fd, name)) {
      r.shim.inodes.forget(inode, 1);
      return look_up(r, parent_fd, parent, name, timeout, entry);
    }
  }
  fill_entry(r, s, inode, timeout, entry);
  return 0;
}

void answer_entry(Request& r, const fuse_entry_param& entry) {
  r.shim.entries.answering(*r.inode(entry.ino), entry.entry_timeout);
  r.end(0);
  fuse_reply_entry(r.req(), &entry);
}

int adopt(Request& r, int fd, Inode* parent, const char* name, double timeout, fuse_entry_param* entry) {
  struct statx s;
  int error = r.shim.inodes.stat_at(fd, "", &s);
  if (error != 0) return -error;
  int path_fd = -1;
  if (!parent || !is_local(*parent, fd)) {
    path_fd = open_lower(r.shim, fd, O_PATH);
    if (path_fd < 0) return -path_fd;
  }
  const FileKey key = r.shim.inodes.key_at(s, fd, parent, name);
  FileHandle handle = path_fd < 0 ? r.shim.inodes.handle_at(fd, "", key) : nullptr;
  Inode* inode = r.shim.inodes.add(key, s.stx_mode, parent, name, path_fd, std::move(handle));
  if (parent) inherit_file_system(*parent, *inode);
  fill_entry(r, s, inode, timeout, entry);
  return 0;
}

CallerScope::Extent extent_to_open(const Request& r, Inode& inode, int fd, int flags) {
  constexpr int kExec = 0x20;
  int mode = flags & O_ACCMODE;
  int want = flags & kExec ? X_OK : mode == O_RDONLY ? R_OK : mode == O_WRONLY ? W_OK : R_OK | W_OK;
  if (flags & O_TRUNC) want |= W_OK;
  if (acts_as_root(r.caller)) return CallerScope::kAll;
  // To leave the access time alone is the owner's right; truncating may take set-id bits away, which being root would save.
  bool plain = (flags & (O_NOATIME | O_TRUNC)) == 0;
  return plain && plainly_allowed(r.caller, inode, fd, want) ? CallerScope::kNothing : CallerScope::kAll;
}

CallerScope::Extent extent_to_make(const Request& r, Inode& dir, int fd, mode_t mode) {
  // A new file keeps S_ISGID only if its maker is in the group, and devices take a capability.
  if (acts_as_root(r.caller) || (mode & S_ISGID) || S_ISCHR(mode) || S_ISBLK(mode) ||
      !plainly_owned(r.caller, dir, fd, W_OK | X_OK))
    return caller_extent(dir, fd, CallerScope::kAll);
  return CallerScope::kOwnership;
}

OpenHandle* add_handle(Request& r, int fd, Inode* inode, fuse_file_info* fi) {
  auto* h = new OpenHandle;
  h->fd = fd;
  h->inode = inode;
  h->id = r.shim.next_handle.fetch_add(1, std::memory_order_relaxed);
  h->flags = fi->flags;
  ++inode->opens;
  if (r.op.who) h->opener = *r.op.who;
  h->uid = r.caller.uid;
  h->gid = r.caller.gid;
  r.op.handle = h->id;
  fi->fh = reinterpret_cast<uint64_t>(h);
  std::lock_guard lock(r.shim.handles_mutex);
  r.shim.handles.insert(h);
  std::lock_guard counting(r.shim.shares_mutex);
  r.shim.descriptors.take(h->uid);
  return h;
}

void drop_handle(Shim& shim, OpenHandle* handle) {
  {
    std::lock_guard lock(shim.handles_mutex);
    shim.handles.erase(handle);
    if (handle->flushed.load() != INT64_MIN) shim.perhaps_going.erase({handle->inode->id, handle});
  }
  {
    std::lock_guard counting(shim.shares_mutex);
    shim.descriptors.give_back(handle->uid);
    if (handle->other.load() >= 0) shim.descriptors.give_back(handle->uid);
  }
  if (handle->maps && shim.mapping_recorder) shim.mapping_recorder->closed(*handle);
  if (handle->maps) shim.backings.closed(*handle->inode);
  --handle->inode->opens;
  delete handle;
}

bool may_open_more(Request& r) {
  if (r.caller.uid == 0) return true;
  std::lock_guard counting(r.shim.shares_mutex);
  return r.shim.descriptors.may_take(r.caller.uid);
}

bool DescriptorShare::charge(Shim& shim, uid_t uid) {
  std::lock_guard counting(shim.shares_mutex);
  if (!shim.descriptors.try_take(uid)) return false;
  shim_ = &shim;
  uid_ = uid;
  return true;
}

DescriptorShare::~DescriptorShare() {
  if (!shim_) return;
  std::lock_guard counting(shim_->shares_mutex);
  shim_->descriptors.give_back(uid_);
}

OpenHandle::~OpenHandle() {
  about_to_wait();
  close(fd);
  if (other.load() >= 0) close(other.load());
}

int lower_fd(Shim& shim, OpenHandle* handle, bool direct) {
  if (direct == ((handle->flags & O_DIRECT) != 0)) return handle->fd;
  int known = handle->other.load();
  if (known >= 0) return known;
  constexpr int kKept = O_ACCMODE | O_APPEND | O_SYNC | O_NOATIME;
  int flags = fcntl(handle->fd, F_GETFL);
  DescriptorShare share;
  const bool may = share.charge(shim, handle->uid);
  const ReopenScope again;
  int fd = may ? open_lower(shim, handle->fd, (flags & kKept) | (direct ? O_DIRECT : 0)) : -EMFILE;
  if (fd < 0) {
    // The file may not be opened any more: data that takes the page cache is better than data that is refused.
    if (!direct) fcntl(handle->fd, F_SETFL, flags & ~O_DIRECT);
    return handle->fd;
  }
  if (handle->other.compare_exchange_strong(known, fd)) {
    share.keep();  // drop_handle() gives it back
    return fd;
  }
  close(fd);
  return known;
}

int Shim::open_by_instance(const Inode* inode) {
  int copy = -1;
  {
    // The handle may be released as soon as the mutex is. So its descriptor is copied here, and used on the file system only
    // afterwards.
    std::lock_guard lock(handles_mutex);
    auto at = std::find_if(handles.begin(), handles.end(), [inode](const OpenHandle* handle) { return handle->inode == inode; });
    if (at == handles.end()) return -ESTALE;
    copy = fcntl((*at)->fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return -errno;
  }
  int fd = openat(proc_fd, FdPath(copy).text, O_PATH | O_CLOEXEC);
  if (fd < 0) fd = -errno;
  close(copy);
  return fd;
}

std::string Shim::processes_keeping_pages() {
  std::set<std::string> names;
  {
    std::lock_guard lock(handles_mutex);
    for (const OpenHandle* handle : handles)
      if (handle->keeps_pages.load(std::memory_order_relaxed) && handle->opener)
        names.insert(std::string(handle->opener->command) + " (" + std::to_string(handle->opener->pid) + ")");
  }
  if (names.empty()) return {};
  std::string text = std::to_string(names.size()) + (names.size() == 1 ? " process: " : " processes: ");
  size_t shown = 0;
  for (const std::string& name : names) {
    if (++shown > kMostNamedProcesses) return text + ", ...";
    text += (shown == 1 ? "" : ", ") + name;
  }
  return text;
}

bool replaced_behind(const Inode& inode, uint64_t links) {
  return links == 0 && inode.opens == 0 && inode.removals == 0 && coarse_now() < inode.kept_until;
}

Shim::~Shim() {
  for (OpenHandle* handle : handles) delete handle;
}

void add_session_operations(fuse_lowlevel_ops& ops) {
  ops.init = init;
  ops.forget = uncancelled<forget>;
  ops.forget_multi = uncancelled<forget_multi>;
}

}  // namespace fsr::shim
