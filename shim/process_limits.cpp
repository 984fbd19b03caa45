// SPDX-License-Identifier: Apache-2.0
#include "process_limits.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "signals.hpp"
#include "util/cgroup.hpp"

namespace fsr::shim {

// Descriptors for control sockets and their clients, the mount and the connection.
constexpr rlim_t kReservedDescriptors = 32;

static void keep_descriptors(rlim_t kept);

ProcessSettings leave_surroundings() {
  ProcessSettings original{.signals = block_signals()};
  original.umask = umask(0);
  auto raise = [](auto resource, rlim_t most, rlimit* before) {
    getrlimit(resource, before);
    const rlimit all{std::max(most, before->rlim_max), std::max(most, before->rlim_max)},
        allowed{before->rlim_max, before->rlim_max};
    if (setrlimit(resource, &all) != 0) setrlimit(resource, &allowed);
  };
  rlim_t most_files = 0;
  std::ifstream("/proc/sys/fs/nr_open") >> most_files;
  raise(RLIMIT_NOFILE, most_files, &original.files);
  keep_descriptors(kReservedDescriptors);
  // The kernel holds each application to its own limit before a write gets here.
  raise(RLIMIT_FSIZE, 0, &original.file_size);
  return original;
}

void resist_memory_pressure() {
  prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!write(fd, "-900", 4);
  close(fd);
}

static UserShares::Limits shares_of(size_t all) { return {all / 2, all / 4 * 3}; }

UserShares::Limits descriptor_limits() {
  rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  return shares_of(size_t(files.rlim_cur));
}

size_t descriptor_budget() {
  rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  return size_t(std::clamp<rlim_t>(files.rlim_cur / 8, 16, 100'000));
}

UserShares::Limits waiting_limits() {
  size_t threads = 1 << 15;
  auto bound = [&](const char* path, size_t per_thread) {
    size_t value;
    if (std::ifstream(path) >> value) threads = std::min(threads, value / per_thread);
  };
  bound("/proc/sys/kernel/threads-max", 1);
  bound("/proc/sys/vm/max_map_count", 2);  // a stack and the page that guards it
  if (const auto limit = cgroup_limit("pids", "pids.max", "pids.max")) threads = std::min<size_t>(threads, *limit);
  return shares_of(threads);
}

// The soft limit is kept below the hard one, which alone bounds what is opened while that is lifted.
static void keep_descriptors(rlim_t kept) {
  rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max - std::min(kept, files.rlim_max / 8);
  setrlimit(RLIMIT_NOFILE, &files);
}

ReservedDescriptors::ReservedDescriptors() { keep_descriptors(0); }
ReservedDescriptors::~ReservedDescriptors() { keep_descriptors(kReservedDescriptors); }

}  // namespace fsr::shim
