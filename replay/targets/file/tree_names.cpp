// SPDX-License-Identifier: Apache-2.0
// Directory target: operations on names and directories.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "credentials.hpp"
#include "direct_io.hpp"
#include "no_umask.hpp"
#include "plain_calls.hpp"
#include "tree.hpp"

namespace fsr {

static int64_t nanoseconds(const statx_timestamp& t) { return t.tv_sec * 1'000'000'000 + t.tv_nsec; }

void fill_attr(const struct statx& from, Attr& to) {
  to.valid =
      kAttrMode | kAttrUid | kAttrGid | kAttrSize | kAttrNlink | kAttrAtime | kAttrMtime | kAttrCtime | kAttrBlocks | kAttrRdev;
  to.mode = from.stx_mode;
  to.uid = from.stx_uid;
  to.gid = from.stx_gid;
  to.size = from.stx_size;
  to.nlink = from.stx_nlink;
  to.blocks = from.stx_blocks;
  to.rdev = makedev(from.stx_rdev_major, from.stx_rdev_minor);
  to.atime = nanoseconds(from.stx_atime);
  to.mtime = nanoseconds(from.stx_mtime);
  to.ctime = nanoseconds(from.stx_ctime);
  if (from.stx_mask & STATX_BTIME) {
    to.valid |= kAttrBtime;
    to.btime = nanoseconds(from.stx_btime);
  }
}

int stat_name(int dir, const char* name, Attr& attr) {
  struct statx st;
  int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*name ? 0 : AT_EMPTY_PATH);
  if (statx(dir, name, flags, STATX_BASIC_STATS | STATX_BTIME, &st) != 0) return errno;
  if (*name && (st.stx_attributes & STATX_ATTR_MOUNT_ROOT)) return EXDEV;
  fill_attr(st, attr);
  return 0;
}

int FileTree::wanted_attr(Context& c, int dir, const char* name) {
  return c.request.want_attr ? stat_name(dir, name, c.request.outcome.attr) : 0;
}

int FileTree::lookup(Context& c) {
  PathAt at;
  if (int error = name_below(c.op.parent, c.op.name, &at, c.latest())) return error;
  Attr& attr = c.request.outcome.attr;
  {
    ActAs act(c.who);
    if (int error = stat_name(at.fd(), at.name.c_str(), attr)) return error;
  }
  objects_.map_id(c.op.object, c.op.parent, c.op.name, attr.mode & S_IFMT);
  return 0;
}

int FileTree::getattr(Context& c) {
  PathAt at;
  if (int error = objects_.subject(c.op, &at)) return error;
  ActAs act(c.who);
  return stat_name(at.fd(), at.name.c_str(), c.request.outcome.attr);
}

// Returns the recorded open flags that are used on the target. O_APPEND is left out, because each write says whether it appends.
int FileTree::kept_flags(uint32_t flags) const {
  if (direct_ && !(flags & O_DIRECTORY)) flags |= O_DIRECT;
  return int(flags & (O_ACCMODE | O_TRUNC | O_EXCL | O_SYNC | O_DSYNC | O_DIRECT | O_NOATIME)) | O_CLOEXEC | O_NOFOLLOW |
         O_NOCTTY;
}

// True: the descriptor is a regular file's. Copies nothing and looks at the errno, because fstat(2) asks the server of a mounted
// 9P.
static bool is_file(int fd) {
  return copy_file_range(fd, nullptr, fd, nullptr, 0, 0) == 0 || (errno != EINVAL && errno != EISDIR);
}

int FileTree::create(Context& c) {
  PathAt at;
  if (int error = name_below(c.op.parent, c.op.name, &at, c.latest())) return error;
  int flags = kept_flags(c.op.open_flags) | O_CREAT, fd;
  // O_EXCL is set only if recorded, because a mounted NFS makes other requests with it. With --privileged it is always set,
  // because an existing file may be a device, which must not be opened. A pipe is opened without waiting, and closed again.
  if (options_.privileged) flags = (flags & ~O_TRUNC) | O_EXCL;
  const int waits = flags & O_EXCL ? 0 : O_NONBLOCK;
  {
    ActAs act(c.who);
    const mode_t mode = allowed_mode(c.op.mode);
    NoUmask exact(mode);
    fd = open_here(at.fd(), at.name.c_str(), flags | waits, mode);
    if (fd < 0 && errno == EINVAL && (flags & O_DIRECT)) {
      ++direct_left_out_;
      flags &= ~O_DIRECT;
      fd = open_here(at.fd(), at.name.c_str(), flags | waits, mode);
    }
  }
  if (fd >= 0) {
    // O_NONBLOCK is removed again, because v9fs ends reads early with it.
    if (waits && (!is_file(fd) || fcntl(fd, F_SETFL, flags) != 0)) return close(fd), ENXIO;
    objects_.map_id(c.op.object, c.op.parent, c.op.name, S_IFREG);
    return finish_open(c, fd, S_IFREG, true);
  }
  if (errno != EEXIST || (c.op.open_flags & O_EXCL)) return errno;
  if (int error = open_existing(c, at)) return error;
  objects_.map_id(c.op.object, c.op.parent, c.op.name, S_IFREG);
  return 0;
}

int FileTree::open(Context& c) {
  // A workload may open by name, without an object. In a trace, an open without an object is damaged.
  if (c.op.kind == OpKind::open && c.op.object == kNoObject && !c.op.name.empty() && opens_by_name()) return open_by_name(c);
  PathAt at;
  if (int error = objects_.path_at(c.op.object, &at)) return error;
  return open_existing(c, at);
}

// Opens a file whose type is not known, by one name and without a request for its attributes. As in create(), a pipe is opened
// without waiting, and closed again.
int FileTree::open_by_name(Context& c) {
  PathAt at;
  if (int error = name_below(c.op.parent, c.op.name, &at, c.latest())) return error;
  int flags = kept_flags(c.op.open_flags) & ~O_EXCL;
  ActAs act(c.who);
  int fd = open_here(at.fd(), at.name.c_str(), flags | O_NONBLOCK);
  if (fd < 0 && errno == EINVAL && (flags & O_DIRECT)) {
    ++direct_left_out_;
    flags &= ~O_DIRECT;
    fd = open_here(at.fd(), at.name.c_str(), flags | O_NONBLOCK);
  }
  if (fd < 0 && errno == EAGAIN) fd = open_here(at.fd(), at.name.c_str(), flags);  // a regular file, on which another has a lease
  if (fd < 0) return errno;
  if (!is_file(fd) || fcntl(fd, F_SETFL, flags) != 0) return close(fd), ENXIO;
  return finish_open(c, fd, S_IFREG, false);
}

// Opens an existing file, but never a device or a pipe, because opening these has side effects.
int FileTree::open_existing(Context& c, const PathAt& at) {
  bool directory = c.op.kind == OpKind::opendir || (c.op.open_flags & O_DIRECTORY);
  int flags = kept_flags(c.op.open_flags | (directory ? O_DIRECTORY : 0)) & ~O_EXCL;
  if (directory) flags |= O_DIRECTORY;
  uint32_t type = at.type;
  UniqueFd path;
  ActAs act(c.who);
  if (!S_ISREG(type) && !S_ISDIR(type)) {
    if (!at.is_fd()) path = UniqueFd(open_here(at.fd(), at.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!at.is_fd() && !path) return errno;
    struct stat st;
    if (fstat(path ? path.get() : at.fd(), &st) != 0) return errno;
    type = st.st_mode & S_IFMT;
    if (directory && !S_ISDIR(type)) return ENOTDIR;
    if (S_ISLNK(type)) return ELOOP;
    if (!S_ISREG(type) && !S_ISDIR(type)) return ENXIO;
  }
  if (c.op.kind == OpKind::create && S_ISDIR(type)) return EISDIR;
  auto attempt = [&](int with) {
    if (!path && !at.is_fd()) return open_here(at.fd(), at.name.c_str(), with);
    return ::open(proc_path(path ? path.get() : at.fd()).data(), with & ~O_NOFOLLOW);
  };
  int fd = attempt(flags);
  if (fd < 0 && errno == EINVAL && (flags & O_DIRECT)) {
    ++direct_left_out_;
    fd = attempt(flags & ~O_DIRECT);
  }
  if (fd < 0) return errno;
  return finish_open(c, fd, type, c.op.kind == OpKind::create);
}

int FileTree::finish_open(Context& c, int fd, uint32_t type, bool attributes) {
  if (!c.op.handle) {  // created, and closed at once
    const int error = attributes ? wanted_attr(c, fd, "") : 0;
    plain_close(fd);
    return error;
  }
  auto open = std::make_shared<OpenFile>();
  open->fd = UniqueFd(fd);
  open->object = c.op.object;
  open->direct = (direct_ || (c.op.open_flags & O_DIRECT)) && S_ISREG(type);
  if (direct_ && S_ISREG(type) && !(c.op.open_flags & O_DIRECT) && (fcntl(fd, F_GETFL) & O_DIRECT))
    open->block = direct_block(fd);
  int error = attributes ? wanted_attr(c, fd, "") : 0;
  if (S_ISDIR(type)) objects_.enter(open);
  objects_.add_open(c.op.handle, std::move(open));
  return error;
}

int FileTree::tmpfile(Context& c) {
  SharedFd dir;
  if (int error = objects_.directory(c.op.parent, &dir)) return error;
  int fd;
  {
    ActAs act(c.who);
    const mode_t mode = allowed_mode(c.op.mode);
    NoUmask exact(mode);
    fd = openat(dir->get(), ".", (kept_flags(c.op.open_flags) & ~(O_TRUNC | O_NOFOLLOW)) | O_TMPFILE, mode);
  }
  if (fd < 0) return errno;
  objects_.map_unnamed(c.op.object, S_IFREG);
  return finish_open(c, fd, S_IFREG, true);
}

int FileTree::make(Context& c) {
  PathAt at;
  if (int error = name_below(c.op.parent, c.op.name, &at, c.latest())) return error;
  uint32_t type;
  {
    ActAs act(c.who);
    int result;
    if (c.op.kind == OpKind::mkdir) {
      type = S_IFDIR;
      const mode_t mode = allowed_mode(c.op.mode);
      NoUmask exact(mode);
      result = mkdirat(at.fd(), at.name.c_str(), mode);
    } else if (c.op.kind == OpKind::mknod) {
      type = c.op.mode & S_IFMT ? c.op.mode & S_IFMT : S_IFREG;
      const mode_t mode = allowed_mode(c.op.mode);
      NoUmask exact(mode);
      result = mknodat(at.fd(), at.name.c_str(), (c.op.mode & S_IFMT) | mode, c.op.flags);
    } else {
      if (c.op.data.find('\0') != std::string_view::npos) return EINVAL;
      type = S_IFLNK;
      result = symlinkat(std::string(c.op.data).c_str(), at.fd(), at.name.c_str());
    }
    if (result != 0) return errno;
    if (int error = wanted_attr(c, at.fd(), at.name.c_str())) return error;
  }
  if (type == S_IFDIR) objects_.remade(c.op.object);
  objects_.map_id(c.op.object, c.op.parent, c.op.name, type);
  return 0;
}

int FileTree::link(Context& c) {
  PathAt from, to;
  if (int error = objects_.path_at(c.op.object, &from)) return error;
  if (int error = name_below(c.op.parent2, c.op.name2, &to)) return error;
  {
    ActAs act(c.who);
    int result = from.is_fd() ? linkat(AT_FDCWD, proc_path(from.fd()).data(), to.fd(), to.name.c_str(), AT_SYMLINK_FOLLOW)
                              : linkat(from.fd(), from.name.c_str(), to.fd(), to.name.c_str(), 0);
    if (result != 0) return errno;
    if (int error = wanted_attr(c, to.fd(), to.name.c_str())) return error;
  }
  objects_.map_id(c.op.object, c.op.parent2, c.op.name2, 0);
  return 0;
}

int FileTree::remove(Context& c, int flags) {
  PathAt at;
  if (int error = name_below(c.op.parent, c.op.name, &at, c.latest())) return error;
  // Keep the removed directory in the cache for a while, because it may still be a process's working directory.
  SharedFd kept;
  if (flags == AT_REMOVEDIR && c.op.object && !objects_.leave(c.op.object)) objects_.directory(c.op.object, &kept);
  {
    ActAs act(c.who);
    if (unlinkat(at.fd(), at.name.c_str(), flags) != 0) return errno;
  }
  objects_.forget_name(c.op.object, c.op.parent, c.op.name);
  return 0;
}

int FileTree::rename(Context& c) {
  PathAt from, to;
  if (int error = name_below(c.op.parent, c.op.name, &from)) return error;
  if (int error = name_below(c.op.parent2, c.op.name2, &to)) return error;
  {
    ActAs act(c.who);
    if (renameat2(from.fd(), from.name.c_str(), to.fd(), to.name.c_str(), c.op.flags) != 0) return errno;
  }
  objects_.renamed(c.op);
  return 0;
}

namespace {
struct KernelEntry {  // struct linux_dirent64
  uint64_t ino;
  int64_t next;
  unsigned short length;
  unsigned char type;
  char name[1];
};

constexpr size_t kLeastBuffer = 320, kBuffer = 32768;  // bytes: one entry with a name of 255 bytes; the buffer of C libraries

// Returns the bytes that `wanted` entries need if their names are as long as the recorded ones. If none were recorded, it is the
// size of the recorded buffer.
size_t buffer_for(const Op& op, size_t wanted) {
  constexpr size_t kHead = 24, kTypicalName = 16;
  if (!has_recorded_entries(op)) return size_t(std::clamp<uint64_t>(op.length, kLeastBuffer, kBuffer));
  size_t names = 0;
  for (const DirEntry& e : op.entries) names += e.name.size();
  const size_t entry = kHead + (op.entries.empty() ? kTypicalName : names / op.entries.size());
  return std::clamp(wanted * entry, kLeastBuffer, kBuffer);
}
}  // namespace

int FileTree::readdir(Context& c) {
  OpenRef open;
  if (int error = objects_.opened(c.op.handle, &open)) return error;
  char* buffer = c.reply.data.need(kBuffer);
  if (!buffer) return ENOMEM;
  c.reply.names.clear();
  c.reply.entries.clear();
  // Without a recorded result, a readdir is one getdents64, as programs call it, because a second one may be a request to a
  // server.
  const bool one_part = !has_recorded_entries(c.op);
  const size_t limit = one_part ? SIZE_MAX : readdir_limit(c.op);
  std::lock_guard lock(open->mutex);
  int fd = open->fd.get();
  // Entries that getdents64 returned beyond `limit` are kept for the next readdir, because v9fs can't resume between them.
  const bool anew = past_cache_ && c.op.offset == 0;
  const uint64_t cursor = anew ? list_anew(c.op.kind, *open) : open->cursor.locate(c.op.offset);
  std::string kept = std::exchange(open->listed, {});
  if (anew || cursor != open->cursor.end()) {
    kept.clear();
    if (lseek(fd, off_t(cursor), SEEK_SET) < 0) return errno;
    open->cursor.ended_at(cursor);
  }
  std::string_view left = kept;
  std::vector<size_t> lengths;
  while (lengths.size() < limit) {
    if (left.empty()) {
      if (one_part && !lengths.empty()) break;
      long n = syscall(SYS_getdents64, fd, buffer, buffer_for(c.op, limit - lengths.size()));
      // Some file systems count a name's characters, not its bytes.
      if (n < 0 && errno == EINVAL) n = syscall(SYS_getdents64, fd, buffer, kBuffer);
      if (n < 0) return errno;
      if (n == 0) break;
      left = {buffer, size_t(n)};
    }
    const auto* entry = reinterpret_cast<const KernelEntry*>(left.data());
    left.remove_prefix(entry->length);
    open->cursor.ended_at(uint64_t(entry->next));
    std::string_view name = entry->name;
    if (name == "." || name == ".." || is_own_entry(open->object, name)) continue;
    c.reply.names += name;
    lengths.push_back(name.size());
    c.reply.entries.push_back({.ino = entry->ino, .type = uint32_t(DTTOIF(entry->type))});
    if (c.op.kind == OpKind::readdirplus && !past_cache_) {
      struct statx st;
      statx(fd, entry->name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &st);
    }
  }
  open->listed = left;
  size_t start = 0;
  for (size_t i = 0; i < lengths.size(); start += lengths[i++])
    c.reply.entries[i].name = std::string_view(c.reply.names).substr(start, lengths[i]);
  c.request.outcome.entries = c.reply.entries;
  c.request.outcome.result = c.reply.entries.size();
  return 0;
}

}  // namespace fsr
