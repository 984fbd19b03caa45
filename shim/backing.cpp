// SPDX-License-Identifier: Apache-2.0
#include "backing.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "capture_error.hpp"
#include "connection.hpp"
#include "inode_table.hpp"
#include "permission.hpp"
#include "proc_read.hpp"
#include "subcommands.hpp"

namespace fsr::shim {

namespace {

bool is_local_type(const std::string& type) {
  for (const char* local : {"ext4", "xfs", "btrfs", "tmpfs", "ramfs", "f2fs", "overlay", "zfs", "bcachefs"})
    if (type == local) return true;
  return false;
}

// True in the first user namespace: FUSE_DEV_IOC_BACKING_OPEN requires CAP_SYS_ADMIN there.
bool in_first_user_namespace() {
  unsigned long inside = 1, outside = 1, count = 0;
  const std::string map = read_proc("self", ProcFile::uid_map);
  return sscanf(map.c_str(), "%lu %lu %lu", &inside, &outside, &count) == 3 && inside == 0 && outside == 0 && count == UINT32_MAX;
}

std::string problem(const CaptureOptions& options, const std::string& fs_type) {
  utsname system = {};
  unsigned major = 0, minor = 0;
  uname(&system);
  sscanf(system.release, "%u.%u", &major, &minor);
  if (std::pair(major, minor) < std::pair(6u, 9u))
    return std::string("Linux 6.9 or newer is required, this kernel is ") + system.release;
  if (geteuid() != 0 || !in_first_user_namespace()) return "root is required, outside of user namespaces";
  // The kernel opens backing files with the rights of this process, which servers may not honour.
  if (!is_local_type(fs_type)) return "the directory is on " + fs_type + ", which is not a local file system";
  if (options.cache == CacheMode::kKernel) return "mappings of the underlying file are not possible with --cache kernel";
  return {};
}

}  // namespace

std::mutex& Backings::mutex_of(const Inode& inode) { return mutexes_[inode.node % mutexes_.size()]; }

int Backings::opened(Inode& inode, int fd, bool writes) {
  if (mappings_ == Mappings::kSeen) return 0;
  const bool local = is_local(inode, fd);
  std::lock_guard lock(mutex_of(inode));
  BackingState& state = inode.backing;
  if (state.opens == 0 && !state.lower) state.lower = local && (mappings_ == Mappings::kLower || writes);
  ++state.opens;
  if (!state.lower || state.id != 0) return state.id;
  const int id = backing_open(fd);
  if (id > 0) return state.id = id;
  // Only the first of several opens gets here, so the kernel has none with passthrough.
  state.lower = false;
  int none = 0;
  refused_.compare_exchange_strong(none, -id);
  return 0;
}

void Backings::closed(Inode& inode) {
  if (mappings_ == Mappings::kSeen) return;
  int id = 0;
  {
    std::lock_guard lock(mutex_of(inode));
    if (--inode.backing.opens == 0) id = std::exchange(inode.backing.id, 0);
  }
  if (id != 0) backing_close(id);
}

bool Backings::is_lower(Inode& inode) {
  if (mappings_ == Mappings::kSeen) return false;
  std::lock_guard lock(mutex_of(inode));
  return inode.backing.lower;
}

Mappings choose_mappings(const CaptureOptions& options, const std::string& fs_type, std::string* why) {
  if (options.mappings == Mappings::kSeen) {
    *why = "--mappings seen";
    return Mappings::kSeen;
  }
  *why = problem(options, fs_type);
  if (why->empty()) return options.mappings;
  if (options.mappings == Mappings::kLower) throw CaptureError("--mappings lower: " + *why + "; leave --mappings out");
  return Mappings::kSeen;
}

std::string mappings_text(Mappings mappings, const std::string& why, const std::string& why_no_faults) {
  constexpr const char* kSendfile = "; of sendfile and splice: only reads that fill pages, marked as the kernel's";
  if (mappings != Mappings::kSeen) {
    const char* of = mappings == Mappings::kAuto ? "mappings of files that were first opened for writing" : "any mapping";
    const std::string text = std::string("mappings ") + (mappings == Mappings::kAuto ? "auto: " : "lower: ");
    if (why_no_faults.empty())
      return text + "page faults of " + of +
             " as reads and writes of whole pages, marked as the kernel's; not: MAP_POPULATE, mremap" + kSendfile;
    return text + "not: faults of and stores through " + of + " (" + why_no_faults + ")" + kSendfile;
  }
  return "mappings seen (" + why + "): mappings do not show what processes outside the capture write" + kSendfile;
}

uint32_t stack_depth(const std::string& fs_type) { return fs_type == "overlay" ? 2 : 1; }

std::string why_seen_inside(const std::string& fs_type, const std::string& directory_type) {
  if (fs_type == "devtmpfs") return {};  // the kernel opens devices itself
  if (!is_local_type(fs_type)) return fs_type + ", which is not a local file system";
  return stack_depth(fs_type) > stack_depth(directory_type) ? "an overlay in a directory that is none" : "";
}

}  // namespace fsr::shim
