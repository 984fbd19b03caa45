// SPDX-License-Identifier: Apache-2.0
#include "known.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <sstream>

namespace differential {

namespace {

bool is(const Op& op, const char* name) { return strcmp(calls()[op.call].name, name) == 0; }

bool is_any(const Op& op, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return is(op, name); });
}

bool is_one_of(int error, std::initializer_list<int> errors) {
  return std::find(errors.begin(), errors.end(), error) != errors.end();
}

// Whether the directory's file system refuses for want of permission what the kernel finds impossible before it asks anybody.
bool found_first(const Op& op, int bare, int shim) {
  if (is_any(op, {"read-to-map", "write-from-map"})) return bare == EINVAL && shim == EFAULT;
  if (shim == EFBIG) return is_one_of(bare, {EACCES, EPERM, EROFS, EXDEV, EINVAL, EOPNOTSUPP});
  if (is_any(op, {"getxattr", "fgetxattr", "mmap"}) && bare == EACCES && shim == EOPNOTSUPP) return true;
  if (is_one_of(bare, {EACCES, EPERM}) && is_one_of(shim, {EACCES, EPERM})) return true;
  if (is(op, "FS_IOC_SETFLAGS") && bare == ENOTTY && shim == EPERM) return true;
  // To the kernel, mounts inside the captured directory are one file system with it.
  if (is_one_of(bare, {EXDEV, EROFS}) && shim != 0) return true;
  if (is(op, "connect") && is_one_of(bare, {EACCES, EPERM}) && shim == ECONNREFUSED) return true;
  return is_one_of(bare, {EACCES, EPERM}) && is_one_of(shim, {ENOENT, ENOTDIR, EISDIR, EBUSY, EEXIST, EBADF, EXDEV, EINVAL,
                                                              ENOTEMPTY, ENAMETOOLONG, ELOOP, ENXIO, EROFS});
}

// Returns the events of inotify in a Result, as calls_sockets.cpp writes them, without IN_ATTRIB.
std::string without_attributes(const Result& events) {
  std::istringstream all(events.text.data());
  std::string kept;
  for (std::string event; all >> event;)
    if (!event.starts_with("4")) kept += event + " ";
  return kept;
}

}  // namespace

const std::vector<Known>& known_differences() {
  static const std::vector<Known> list = {
      {"which-error", "A call that is refused twice may fail with the other one of EACCES and EPERM",
       [](const Op& op, const Result& bare, const Result& shim) { return found_first(op, bare.error, shim.error); },
       Known::After::goes_on},
      {"end-of-directory", "the end of a directory, for lseek(2) and locks",
       [](const Op& op, const Result& bare, const Result& shim) {
         // On btrfs the end is the largest offset there is, from which read(2) fails with EINVAL first.
         const bool no_read =
             is_any(op, {"read", "readv", "sendfile"}) && bare.error == EINVAL && is_one_of(shim.error, {EISDIR, EBADF});
         return no_read || shim.fields[kOnDirectory] == 1;
       },
       Known::After::differs},
      {"holes-read-through-mappings", "a hole of a tmpfs that was read through a mapping",
       [](const Op& op, const Result&, const Result& shim) {
         return is(op, "lseek") && (op.args[2] == SEEK_DATA || op.args[2] == SEEK_HOLE) && shim.fields[kAfterMapping] == 1;
       },
       Known::After::differs},
      {"room-that-was-read", "Space from fallocate(2) that was only read counts as a hole or as data",
       [](const Op& op, const Result&, const Result& shim) {
         return is(op, "lseek") && (op.args[2] == SEEK_DATA || op.args[2] == SEEK_HOLE) && shim.fields[kAfterAllocation] == 1;
       },
       Known::After::differs},
      {"flags-need-reading", "permission to read needed; none for FIFOs, devices and sockets",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is_any(op, {"FS_IOC_GETFLAGS", "FS_IOC_SETFLAGS"}) && (bare.error == 0 || bare.error == EPERM) &&
                shim.error == EACCES;
       },
       Known::After::differs},
      {"flags-of-special-files", "none for FIFOs, devices and sockets",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is_any(op, {"FS_IOC_GETFLAGS", "FS_IOC_SETFLAGS"}) && bare.error != ENOTTY && shim.error == ENOTTY;
       },
       Known::After::differs},
      {"append-flag", "may change O_APPEND of an append-only file, which goes on appending",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is(op, "F_SETFL") && bare.error == EPERM && shim.error == 0;
       },
       Known::After::differs},
      {"position-of-failed-listing", "After a listing that failed for lack of space, the position is another",
       [](const Op& op, const Result&, const Result& shim) {
         return is_any(op, {"lseek", "get-lock", "set-lock"}) && shim.fields[kOnDirectory] == 2;
       },
       Known::After::differs},
      {"time-after-mapping", "a page that was written through a mapping before and reaches the file later sets it again",
       [](const Op& op, const Result& bare, const Result&) {
         return is_any(op, {"utimensat", "futimens", "poke"}) && bare.error == 0 && bare.fields[kAfterMapping] == 1;
       },
       Known::After::hidden},
      {"beyond-the-end", "a store to a mapped page beyond the end of the file, on a tmpfs",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is(op, "peek") && bare.error == shim.error && shim.fields[kAfterMapping] == 1;
       },
       Known::After::goes_on},
      {"left-by-failure", "set-id bits and times as they were, or not",
       [](const Op& op, const Result& bare, const Result&) {
         const bool refused_direct = is_any(op, {"write", "pwrite", "pwritev2"}) && bare.error == EINVAL;
         const bool above_limit = is_any(op, {"fallocate", "ring-fallocate"}) && bare.error == EFBIG;
         return refused_direct || above_limit ||
                (is_any(op, {"write-from-map", "fallocate", "ring-fallocate"}) && bare.error != 0 && bare.fields[kSetId] == 1);
       },
       Known::After::hidden},
      {"owner-unchanged", "chown(2) with nothing to change on a file with set-id bits succeeds for users without permission",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is_any(op, {"fchown", "fchownat"}) && bare.error == EPERM && shim.error == 0;
       },
       Known::After::goes_on},
      {"working-directory", "getcwd(2) fails there until a user with permission walks there again",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is(op, "getcwd") && bare.error == 0 && shim.error == ENOENT;
       },
       Known::After::goes_on},
      {"access-with-capabilities",
       "access(2) and faccessat(2) with AT_EACCESS give the same answer about capabilities that the user would not have by "
       "itself",
       [](const Op& op, const Result& bare, const Result& shim) {
         const bool finds_more = bare.error == EACCES && is_one_of(shim.error, {0, ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG});
         return is(op, "faccessat2") && (finds_more || (bare.error != EACCES && shim.error == EACCES));
       },
       Known::After::goes_on},
      {"access-on-read-only-mount", "access(2) finds that a mount inside may be written that is read-only",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is(op, "faccessat2") && is_one_of(bare.error, {EROFS, EPERM}) && shim.error == 0;
       },
       Known::After::goes_on, Known::Where::kernel_checks},
      {"access-of-link-on-read-only-mount", "a symbolic link itself may be written in a mount inside that is read-only",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is(op, "faccessat2") && (op.args[3] & AT_SYMLINK_NOFOLLOW) && bare.error == EROFS && shim.error == 0;
       },
       Known::After::goes_on, Known::Where::mounts},
      {"names-in-namespaces", "capabilities of a user namespace count only if both directories belong to its users",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is_any(op, {"renameat2", "ring-renameat", "linkat", "ring-linkat"}) &&
                is_one_of(bare.error, {0, EEXIST, ENOTEMPTY}) && is_one_of(shim.error, {EACCES, EPERM});
       },
       Known::After::differs},
      {"link-of-changed-file", "fs.protected_hardlinks uses the mode that the kernel saw last",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is_any(op, {"link-open", "linkat", "ring-linkat"}) && bare.error == 0 && shim.error == EPERM;
       },
       Known::After::differs},
      {"lost-event", "no IN_ATTRIB when a write clears set-id bits",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is(op, "events") && without_attributes(bare) == without_attributes(shim);
       },
       Known::After::goes_on},
      {"default-acl-of-file", "removing a default ACL from a file that is no directory",
       [](const Op& op, const Result& bare, const Result& shim) {
         if (!is_one_of(bare.error, {EPERM, EROFS}) || shim.error != 0) return false;
         if (is(op, "set-acl")) return op.args[1] == kDefaultAcl && op.args[2] == kEmptyAcl;
         const bool removes =
             is_any(op, {"removexattr", "fremovexattr"}) || (is_any(op, {"setxattr", "fsetxattr"}) && op.args[2] == 0);
         return removes && op.args[1] == kDefaultAclName;
       },
       Known::After::goes_on},
      {"changes-nothing", "calls that change nothing in a mount inside that is read-only",
       [](const Op& op, const Result& bare, const Result& shim) {
         const bool same_owner = (is(op, "fchownat") && op.args[2] == -1 && op.args[3] == -1) ||
                                 (is(op, "fchown") && op.args[1] == -1 && op.args[2] == -1);
         return (same_owner || is_any(op, {"renameat2", "ring-renameat"})) && bare.error == EROFS && shim.error == 0;
       },
       Known::After::goes_on},
      {"directory-at-two-paths", "a directory that is bound at two paths is two",
       [](const Op& op, const Result& bare, const Result& shim) {
         if (is(op, "lease")) return bare.error == EAGAIN && shim.error == 0;
         if (bare.error != 0) return false;
         return (is_any(op, {"openat", "openat2", "ring-openat"}) && shim.error == ENXIO) ||
                (is(op, "connect") && shim.error == ECONNREFUSED) || is_any(op, {"events", "content"});
       },
       Known::After::differs, Known::Where::mounts},
      {"crossing-mounts", "openat2(2) with RESOLVE_NO_XDEV and copy_file_range(2) cross them",
       [](const Op& op, const Result& bare, const Result& shim) {
         const bool crosses = is(op, "copy_file_range") || (is(op, "openat2") && (op.args[5] & RESOLVE_NO_XDEV));
         return crosses && bare.error == EXDEV && shim.error == 0;
       },
       Known::After::differs},
      {"direct-alignment", "nor the offset of an appending write",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is_any(op, {"write", "pwrite", "pwritev2", "splice", "sendfile", "pread-to-odd-address"}) &&
                bare.error == EINVAL && shim.error == 0;
       },
       Known::After::differs},
      {"reading-to-protected-memory", "reading at the end of the file into write-protected memory",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is(op, "read-to-map") && bare.value == 0 && shim.error == EFAULT;
       },
       Known::After::goes_on},
      {"writing-from-unreadable-memory", "writing from memory that is mapped only for writing",
       [](const Op& op, const Result&, const Result& shim) { return is(op, "write-from-map") && shim.error == EFAULT; },
       Known::After::differs},
      {"copy-to-direct", "copy_file_range(2) uses the page cache",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is(op, "copy_file_range") && bare.error == EINVAL && shim.error == 0;
       },
       Known::After::differs},
      {"nothing-to-immutable", "copying or writing 0 bytes to an immutable file",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is_any(op, {"copy_file_range", "write", "pwrite", "pwritev2", "ring-write"}) && bare.error == EPERM &&
                shim.error == 0 && shim.value == 0;
       },
       Known::After::goes_on},
      {"limit-of-size", "RLIMIT_FSIZE and fallocate(2) that keeps the size",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is(op, "fallocate") && bare.error == EFBIG && shim.error == 0;
       },
       Known::After::differs},
      {"mapping-of-append-only-file", "mmap(2), shared and writable, of an append-only file",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is(op, "mmap") && bare.error == EACCES && shim.error == 0;
       },
       Known::After::differs},
      {"lock-on-immutable-file", "a write lock on a file that became immutable or append-only while open",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is(op, "set-lock") && bare.error == 0 && shim.error == EPERM;
       },
       Known::After::differs},
      {"time-of-access", "may differ: a read that returns nothing may not set it",
       [](const Op&, const Result& bare, const Result& shim) {
         Result alike = shim;
         alike.fields[kTimeOfAccess] = bare.fields[kTimeOfAccess];
         return (bare.fields[kTimeOfAccess] == 1 || shim.fields[kTimeOfAccess] == 1) && alike == bare;
       },
       Known::After::goes_on},
      {"name-of-open", "may be marked as deleted after a directory above was closed to a user",
       [](const Op& op, const Result&, const Result& shim) { return is(op, "name-of-open") && shim.error == 0; },
       Known::After::goes_on},
      {"removed-outside", "a file that is open only with O_PATH, after a process outside the capture removed it",
       [](const Op& op, const Result& bare, const Result& shim) {
         constexpr size_t kLinks = 1;
         return is_any(op, {"fstat", "fstatat", "statx"}) && bare.error == 0 && bare.fields[kLinks] == 0 && shim.error == ESTALE;
       },
       Known::After::differs},
      {"executed-outside", "executing a file that a process outside the capture has open for writing, or the reverse",
       [](const Op& op, const Result& bare, const Result& shim) { return bare.error == ETXTBSY && shim.error != ETXTBSY; },
       Known::After::differs},
      {"holder-of-description-lock", "F_GETLK names a process for locks of open file descriptions, too, F_OFD_GETLK none",
       [](const Op& op, const Result& bare, const Result& shim) {
         Result alike = shim;
         alike.fields[4] = bare.fields[4];
         bool expected = bare.fields[4] == -1 || (op.args[1] == F_OFD_GETLK && shim.fields[4] == -1);
         return is(op, "get-lock") && expected && alike == bare;
       },
       Known::After::goes_on},
  };
  return list;
}

}  // namespace differential
