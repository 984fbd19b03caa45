// SPDX-License-Identifier: Apache-2.0
#include "tree.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

#include "credentials.hpp"
#include "mount_requests.hpp"
#include "util/page_size.hpp"

namespace fsr {

ReplyBuffer::~ReplyBuffer() { free(data_); }

char* ReplyBuffer::need(size_t bytes) {
  if (bytes <= size_) return data_;
  size_t size = whole_pages(bytes);
  void* fresh = nullptr;
  if (posix_memalign(&fresh, page_size(), size) != 0) return nullptr;
  free(data_);
  data_ = static_cast<char*>(fresh);
  size_ = size;
  return data_;
}

static size_t cached_directories() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  return std::min<size_t>(limit.rlim_cur / 4, 8192);
}

static PathNaming paths_of(FileAccess access) {
  return access == FileAccess::by_absolute_path   ? PathNaming::absolute
         : access == FileAccess::by_relative_path ? PathNaming::relative
                                                  : PathNaming::none;
}

FileTree::FileTree(UniqueFd root, const TargetOptions& options, FileAccess access)
    : options_(options),
      objects_(std::move(root), cached_directories(), paths_of(access)),
      by_name_(access == FileAccess::as_recorded || access == FileAccess::direct),
      past_cache_(access == FileAccess::past_cache && on_nfs(objects_.root())),
      direct_(access == FileAccess::direct || past_cache_),
      plain_(!direct_ && !options.privileged && !options.impersonate) {}

std::array<char, 32> proc_path(int fd) {
  std::array<char, 32> path{};
  fmt::format_to_n(path.data(), path.size() - 1, "/proc/self/fd/{}", fd);
  return path;
}

static bool guarded_xattr(std::string_view name) { return name.starts_with("trusted.") || name.starts_with("security."); }

Fidelity FileTree::expressible(const Op& op, bool privileged) {
  constexpr uint32_t kSetId = S_ISUID | S_ISGID;
  switch (op.kind) {
    case OpKind::mknod:
      if ((S_ISCHR(op.mode) || S_ISBLK(op.mode)) && !privileged) return Fidelity::impossible;
      [[fallthrough]];
    case OpKind::create:
    case OpKind::mkdir:
    case OpKind::tmpfile:
      return (op.mode & kSetId) && !privileged ? Fidelity::approximate : Fidelity::exact;
    case OpKind::setattr:
      return op.set && (op.set->valid & kAttrMode) && (op.set->mode & kSetId) && !privileged ? Fidelity::approximate
                                                                                             : Fidelity::exact;
    case OpKind::rename:
      return (op.flags & RENAME_WHITEOUT) && !privileged ? Fidelity::impossible : Fidelity::exact;
    case OpKind::setxattr:
      if (guarded_xattr(op.name) && !privileged) return Fidelity::impossible;
      // If the value was not recorded, a user attribute is set to zeros of the same size. An ACL can't be set to zeros.
      if (op.data.size() < op.length) return op.name.starts_with("user.") ? Fidelity::approximate : Fidelity::impossible;
      return Fidelity::exact;
    case OpKind::removexattr:
      return guarded_xattr(op.name) && !privileged ? Fidelity::impossible : Fidelity::exact;
    case OpKind::ioctl:  // arguments are not recorded, so that only ioctls without arguments are expressible
      if (asks_for_terminal(op)) return Fidelity::exact;
      return privileged && (op.flags == uint32_t(FS_IOC_GETFLAGS) || op.flags == uint32_t(FS_IOC_GETVERSION))
                 ? Fidelity::exact
                 : Fidelity::impossible;
    default:
      return Fidelity::exact;
  }
}

bool FileTree::perform(TargetRequest& request, FileReply& reply) {
  Context c{*request.op, request, reply, options_.impersonate ? &request.who : nullptr};
  request.outcome = {};
  if (past_cache_) ask_server(c);
  request.outcome.error = expressible(c.op, options_.privileged) == Fidelity::impossible ? EPERM : dispatch(c);
  if (request.outcome.error == EMFILE) ++without_descriptor_;
  return c.released;
}

int FileTree::dispatch(Context& c) {
  switch (c.op.kind) {
    case OpKind::null:
      return 0;
    case OpKind::lookup:
      return lookup(c);
    case OpKind::getattr:
    case OpKind::statx:
      return getattr(c);
    case OpKind::setattr:
      return setattr(c);
    case OpKind::access:
      return access(c);
    case OpKind::readlink:
      return readlink(c);
    case OpKind::open:
    case OpKind::opendir:
      return open(c);
    case OpKind::create:
      return create(c);
    case OpKind::tmpfile:
      return tmpfile(c);
    case OpKind::read:
      return read(c);
    case OpKind::write:
      return write(c);
    case OpKind::copy_file_range:
      return copy_range(c);
    case OpKind::fallocate:
    case OpKind::lseek:
    case OpKind::fsync:
    case OpKind::fsyncdir:
    case OpKind::flush:
    case OpKind::statfs:
    case OpKind::syncfs:
      return on_descriptor(c);
    case OpKind::release:
    case OpKind::releasedir:
      return release(c);
    case OpKind::readdir:
    case OpKind::readdirplus:
      return readdir(c);
    case OpKind::mkdir:
    case OpKind::mknod:
    case OpKind::symlink:
      return make(c);
    case OpKind::link:
      return link(c);
    case OpKind::unlink:
      return remove(c, 0);
    case OpKind::rmdir:
      return remove(c, AT_REMOVEDIR);
    case OpKind::rename:
      return rename(c);
    case OpKind::getxattr:
      return getxattr(c);
    case OpKind::setxattr:
      return setxattr(c);
    case OpKind::listxattr:
      return listxattr(c);
    case OpKind::removexattr:
      return removexattr(c);
    case OpKind::getlk:
    case OpKind::setlk:
      return record_lock(c);
    case OpKind::flock:
      return flock(c);
    case OpKind::ioctl:
      return ioctl(c);
  }
  return EOPNOTSUPP;
}

int FileTree::name_below(ObjectId parent, std::string_view name, PathAt* at, LatestDirectory* latest) {
  if (name.size() > NAME_MAX) return ENAMETOOLONG;
  if (!valid_component(name)) {
    ++refused_names_;
    return EINVAL;
  }
  at->name = name;
  return latest ? objects_.directory(parent, *latest, at) : objects_.directory(parent, &at->dir);
}

mode_t FileTree::allowed_mode(uint32_t mode) {
  constexpr uint32_t kSetId = S_ISUID | S_ISGID;
  if (options_.privileged || !(mode & kSetId)) return mode & 07777;
  ++set_id_left_out_;
  return mode & 07777 & ~kSetId;
}

std::vector<std::pair<std::string, uint64_t>> FileTree::counters() const {
  return {{"set-id bits left out", set_id_left_out_},
          {"opened without O_DIRECT", direct_left_out_},
          {"reads, writes and copies without O_DIRECT, not of whole blocks", unaligned_},
          {"names refused", refused_names_},
          {"failed because this process may have no more open files (ulimit -Hn)", without_descriptor_}};
}

}  // namespace fsr
