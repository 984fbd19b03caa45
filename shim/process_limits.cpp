// SPDX-License-Identifier: Apache-2.0
#include "process_limits.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "signals.hpp"

namespace fsr::shim {

Surroundings leave_surroundings() {
  Surroundings original{.signals = block_signals()};
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

OpenFiles::Limits open_file_limits() {
  rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  return {size_t(files.rlim_cur / 2), size_t(files.rlim_cur / 4 * 3)};
}

size_t descriptor_budget() {
  rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  return size_t(std::clamp<rlim_t>(files.rlim_cur / 2, 16, 100'000));
}

}  // namespace fsr::shim
