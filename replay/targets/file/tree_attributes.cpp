// SPDX-License-Identifier: Apache-2.0
// Directory target: attributes and extended attributes.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "credentials.hpp"
#include "tree.hpp"

namespace fsr {
namespace {

// A path that leads to the file itself, for calls that follow symlinks. A file that is addressed by its name is opened for it.
struct PathOf {
  UniqueFd own;
  std::array<char, 32> text{};
  int error = 0;
  explicit PathOf(const PathAt& at) {
    if (!at.is_fd()) {
      own = UniqueFd(open_here(at.fd(), at.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
      if (!own) error = errno;
    }
    text = proc_path(own ? own.get() : at.fd());
  }
};

timespec time_to_set(uint32_t valid, uint32_t field, uint32_t now, int64_t ns) {
  if (valid & now) return {.tv_sec = 0, .tv_nsec = UTIME_NOW};
  if (!(valid & field)) return {.tv_sec = 0, .tv_nsec = UTIME_OMIT};
  int64_t seconds = ns / 1'000'000'000, rest = ns % 1'000'000'000;
  if (rest < 0) rest += 1'000'000'000, --seconds;
  return {.tv_sec = seconds, .tv_nsec = rest};
}

bool usable_name(std::string_view name) { return !name.empty() && name.find('\0') == std::string_view::npos; }

}  // namespace

int FileTree::setattr(Context& c) {
  PathAt at;
  if (int error = objects_.subject(c.op, &at)) return error;
  const Attr none, &set = c.op.set ? *c.op.set : none;
  int dir = at.is_fd() ? AT_FDCWD : at.fd(), nofollow = at.is_fd() ? 0 : AT_SYMLINK_NOFOLLOW;
  std::array<char, 32> proc = proc_path(at.fd());
  const char* path = at.is_fd() ? proc.data() : at.name.c_str();
  ActAs act(c.who);
  if (set.valid & (kAttrUid | kAttrGid)) {
    uid_t uid = (set.valid & kAttrUid) ? set.uid : uid_t(-1);
    gid_t gid = (set.valid & kAttrGid) ? set.gid : gid_t(-1);
    if (fchownat(dir, path, uid, gid, nofollow) != 0) return errno;
  }
  if (set.valid & (kAttrMode | kAttrSize)) {
    PathOf real(at);
    if (real.error) return real.error;
    if ((set.valid & kAttrMode) && chmod(real.text.data(), allowed_mode(set.mode)) != 0) return errno;
    if (set.valid & kAttrSize) {
      if (set.size > uint64_t(INT64_MAX)) return EINVAL;
      // Try the handle first, because it may be used to cut the file even if the permissions no longer allow that.
      bool by_handle = at.open && c.op.handle && ftruncate(at.fd(), off_t(set.size)) == 0;
      if (!by_handle && truncate(real.text.data(), off_t(set.size)) != 0) return errno;
    }
  }
  if (set.valid & (kAttrAtime | kAttrMtime | kAttrAtimeNow | kAttrMtimeNow)) {
    timespec times[] = {time_to_set(set.valid, kAttrAtime, kAttrAtimeNow, set.atime),
                        time_to_set(set.valid, kAttrMtime, kAttrMtimeNow, set.mtime)};
    if (utimensat(dir, path, times, nofollow) != 0) return errno;
  }
  struct statx st;
  if (statx(at.fd(), at.name.c_str(), AT_SYMLINK_NOFOLLOW | (at.is_fd() ? AT_EMPTY_PATH : 0), STATX_BASIC_STATS | STATX_BTIME,
            &st))
    return errno;
  fill_attr(st, c.request.outcome.attr);
  return 0;
}

int FileTree::access(Context& c) {
  if (past_cache_) return access_anew(c);
  PathAt at;
  if (int error = objects_.subject(c.op, &at)) return error;
  std::array<char, 32> proc = proc_path(at.fd());
  ActAs act(c.who);
  long result = at.is_fd() ? syscall(SYS_faccessat2, AT_FDCWD, proc.data(), c.op.mode, AT_EACCESS)
                           : syscall(SYS_faccessat2, at.fd(), at.name.c_str(), c.op.mode, AT_EACCESS | AT_SYMLINK_NOFOLLOW);
  return result == 0 ? 0 : errno;
}

int FileTree::readlink(Context& c) {
  PathAt at;
  if (int error = objects_.subject(c.op, &at)) return error;
  if (at.is_fd()) return EINVAL;  // only directories and open files are addressed without a name
  char* buffer = c.reply.data.need(PATH_MAX);
  if (!buffer) return ENOMEM;
  ActAs act(c.who);
  ssize_t n = readlinkat(at.fd(), at.name.c_str(), buffer, PATH_MAX);
  if (n < 0) return errno;
  c.request.outcome.data = {buffer, size_t(n)};
  c.request.outcome.result = uint64_t(n);
  return 0;
}

int FileTree::getxattr(Context& c) {
  PathAt at;
  if (int error = objects_.subject(c.op, &at)) return error;
  if (!usable_name(c.op.name)) return EINVAL;
  size_t size = size_t(std::min<uint64_t>(c.op.length, XATTR_SIZE_MAX));
  char* buffer = c.reply.data.need(XATTR_SIZE_MAX);
  if (!buffer) return ENOMEM;
  ActAs act(c.who);
  PathOf path(at);
  if (path.error) return path.error;
  ssize_t n = ::getxattr(path.text.data(), std::string(c.op.name).c_str(), buffer, size);
  if (n < 0) return errno;
  c.request.outcome.result = uint64_t(n);
  if (size) c.request.outcome.data = {buffer, size_t(n)};
  return 0;
}

int FileTree::setxattr(Context& c) {
  PathAt at;
  if (int error = objects_.subject(c.op, &at)) return error;
  if (!usable_name(c.op.name)) return EINVAL;
  if (c.op.length > XATTR_SIZE_MAX) return E2BIG;
  std::string value(c.request.payload.empty() ? c.op.data : c.request.payload);
  value.resize(c.op.length);
  ActAs act(c.who);
  PathOf path(at);
  if (path.error) return path.error;
  return ::setxattr(path.text.data(), std::string(c.op.name).c_str(), value.data(), value.size(), int(c.op.flags)) == 0 ? 0
                                                                                                                        : errno;
}

int FileTree::listxattr(Context& c) {
  PathAt at;
  if (int error = objects_.subject(c.op, &at)) return error;
  size_t size = size_t(std::min<uint64_t>(c.op.length, XATTR_LIST_MAX));
  char* buffer = c.reply.data.need(XATTR_LIST_MAX);
  if (!buffer) return ENOMEM;
  ActAs act(c.who);
  PathOf path(at);
  if (path.error) return path.error;
  ssize_t n = ::listxattr(path.text.data(), buffer, size);
  if (n < 0) return errno;
  c.request.outcome.result = uint64_t(n);
  if (size) c.request.outcome.data = {buffer, size_t(n)};
  return 0;
}

int FileTree::removexattr(Context& c) {
  PathAt at;
  if (int error = objects_.subject(c.op, &at)) return error;
  if (!usable_name(c.op.name)) return EINVAL;
  ActAs act(c.who);
  PathOf path(at);
  if (path.error) return path.error;
  return ::removexattr(path.text.data(), std::string(c.op.name).c_str()) == 0 ? 0 : errno;
}

int FileTree::ioctl(Context& c) {
  OpenRef open;
  if (int error = objects_.opened(c.op.handle, &open)) return error;
  alignas(8) char answer[256];  // more than any of the expressible ioctls returns
  ActAs act(c.who);
  return ::ioctl(open->fd.get(), c.op.flags, answer) >= 0 ? 0 : errno;
}

}  // namespace fsr
