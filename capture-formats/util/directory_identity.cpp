// SPDX-License-Identifier: Apache-2.0
#include "util/directory_identity.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>

#include "util/mountinfo.hpp"
#include "util/unique_fd.hpp"

namespace fsr {

namespace {

constexpr size_t kMostAbove = 256;  // directories above that are recorded

// Returns the path from the root of the file system. Empty: not known, because the file system is one of the network or of a
// user, whose mounts may be of different directories.
std::string path_within(int fd) {
  const std::optional<MountEntry> mount = mount_of(fd);
  if (!mount) return {};
  for (const char* type : {"nfs", "cifs", "smb", "9p", "fuse", "afs", "ceph"})
    if (mount->type.starts_with(type)) return {};
  char text[PATH_MAX];
  const ssize_t n = readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), text, sizeof text);
  if (n <= 0) return {};
  const std::string path(text, size_t(n)), point = mount->point == "/" ? "" : mount->point;
  if (!path.starts_with(point)) return {};
  const std::string below = path.substr(point.size());
  const std::string whole = (mount->root == "/" ? "" : mount->root) + (below == "/" ? "" : below);
  return whole.empty() ? "/" : whole;
}

std::optional<InodeIdentity> inode_identity(int fd) {
  struct stat s;
  struct statx born;
  if (fstat(fd, &s) != 0) return {};
  InodeIdentity identity{.device = uint64_t(s.st_dev), .inode = s.st_ino};
  if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BTIME, &born) == 0 && (born.stx_mask & STATX_BTIME))
    identity.born = born.stx_btime.tv_sec * 1'000'000'000ll + born.stx_btime.tv_nsec;
  return identity;
}

bool below(const std::string& path, const std::string& directory) {
  return !path.empty() && !directory.empty() && path != directory &&
         path.starts_with(directory == "/" ? directory : directory + "/");
}

}  // namespace

bool InodeIdentity::operator==(const InodeIdentity& other) const {
  return device == other.device && inode == other.inode && (born == 0 || other.born == 0 || born == other.born);
}

DirectoryIdentity directory_identity(int fd) {
  DirectoryIdentity identity;
  const std::optional<InodeIdentity> self = inode_identity(fd);
  if (!self) return identity;
  identity.self = *self;
  identity.path = path_within(fd);
  UniqueFd at(openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  InodeIdentity last = *self;
  while (at) {
    const std::optional<InodeIdentity> here = inode_identity(at.get());
    if (!here || *here == last || identity.above.size() == kMostAbove) break;
    identity.above.push_back(last = *here);
    at = UniqueFd(openat(at.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  std::ifstream("/proc/sys/kernel/random/boot_id") >> identity.machine;
  return identity;
}

DirectoryIdentity directory_identity(const std::string& directory, bool& missing) {
  missing = false;
  for (std::string path = directory;;) {
    const UniqueFd fd(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (fd) return directory_identity(fd.get());
    if ((errno != ENOENT && errno != ENOTDIR) || path == "." || path == "/" || path.empty()) return {};
    missing = true;
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    const size_t slash = path.rfind('/');
    path = slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  }
}

DirectoryRelation directory_relation(const DirectoryIdentity& other, const DirectoryIdentity& directory) {
  if (other.machine.empty() || other.machine != directory.machine) return DirectoryRelation::apart;
  if (other.self == directory.self) return DirectoryRelation::same;
  const bool one_system = other.self.device == directory.self.device;
  auto among = [](const auto& list, const auto& what) { return std::ranges::find(list, what) != list.end(); };
  if (among(other.above, directory.self) || (one_system && below(other.path, directory.path))) return DirectoryRelation::inside;
  if (among(directory.above, other.self) || (one_system && below(directory.path, other.path))) return DirectoryRelation::contains;
  return DirectoryRelation::apart;
}

}  // namespace fsr
