// SPDX-License-Identifier: Apache-2.0
#include "process_limits.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "capture_error.hpp"
#include "signals.hpp"
#include "util/cgroup.hpp"
#include "util/units.hpp"

namespace fsr::shim {

// Descriptors for control sockets and their clients, the mount and the connection.
constexpr rlim_t kReservedDescriptors = 32;

// A capture of 60 processes that write at once took 183 MiB of address space and 88 MiB of data with such limits. Open files and
// locks that wait need more.
constexpr rlim_t kLeastAddressSpace = rlim_t(512) << 20, kLeastData = rlim_t(256) << 20;
constexpr size_t kLeastStack = size_t(1) << 20;  // bytes, of each thread

static void keep_descriptors(rlim_t kept);

// Lifts the limit to `most` if that is permitted, else to the hard limit. Keeps what it was in `original`.
static void lift(ProcessSettings& original, __rlimit_resource resource, rlim_t most) {
  rlimit before;
  getrlimit(resource, &before);
  original.limits.emplace_back(resource, before);
  const rlim_t all = std::max(most, before.rlim_max);
  const rlimit raised{all, all}, allowed{before.rlim_max, before.rlim_max};
  if (setrlimit(resource, &raised) != 0) setrlimit(resource, &allowed);
}

static rlim_t limit_of(__rlimit_resource resource) {
  rlimit limit;
  getrlimit(resource, &limit);
  return limit.rlim_cur;
}

// For threads made from now on: enough stack, and where memory is limited no more, nor a heap for each.
static void prepare_threads() {
  const bool limited = limit_of(RLIMIT_AS) != RLIM_INFINITY || limit_of(RLIMIT_DATA) != RLIM_INFINITY;
  if (limited) mallopt(M_ARENA_MAX, 2);
  pthread_attr_t attributes;
  size_t size = 0;
  pthread_getattr_default_np(&attributes);
  pthread_attr_getstacksize(&attributes, &size);
  if ((limited || size < kLeastStack) && pthread_attr_setstacksize(&attributes, kLeastStack) == 0)
    pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

ProcessSettings leave_surroundings() {
  ProcessSettings original{.limits = {}, .signals = block_signals()};
  original.umask = umask(0);
  rlim_t most_files = 0;
  std::ifstream("/proc/sys/fs/nr_open") >> most_files;
  lift(original, RLIMIT_NOFILE, most_files);
  keep_descriptors(kReservedDescriptors);
  // The kernel holds each application to its own limit before a write gets here.
  lift(original, RLIMIT_FSIZE, 0);
  // These limits would end this process in the middle of a capture.
  for (auto resource : {RLIMIT_AS, RLIMIT_DATA, RLIMIT_CPU}) lift(original, resource, RLIM_INFINITY);
  lift(original, RLIMIT_STACK, kLeastStack);
  prepare_threads();
  return original;
}

void need_memory() {
  const struct {
    __rlimit_resource resource;
    rlim_t least;
    const char* what;
  } needs[] = {{RLIMIT_AS, kLeastAddressSpace, "address space (ulimit -Hv)"},
               {RLIMIT_DATA, kLeastData, "data (ulimit -Hd)"},
               {RLIMIT_STACK, kLeastStack, "stack (ulimit -Hs)"}};
  for (const auto& [resource, least, what] : needs)
    if (limit_of(resource) < least)
      throw CaptureError("this process may have only " + format_size(limit_of(resource)) + " of " + what +
                         ", and a capture can need " + format_size(least) + "; raise the limit, or give --force");
}

void tell_processor_time_limit(const char* then) {
  if (const rlim_t seconds = limit_of(RLIMIT_CPU); seconds != RLIM_INFINITY)
    dprintf(STDERR_FILENO, "fsshim: the kernel will end fsshim after %llu s of processor time (ulimit -Ht); %s\n",
            static_cast<unsigned long long>(seconds), then);
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
