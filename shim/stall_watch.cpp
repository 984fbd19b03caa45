// SPDX-License-Identifier: Apache-2.0
#include "stall_watch.hpp"

#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>

#include "proc_read.hpp"
#include "util/units.hpp"

namespace fsr::shim {

namespace {

constexpr int64_t kLookEvery = 1'000'000'000;  // ns
constexpr size_t kMostNamedRequests = 20;

// The calls by which requests are answered; those of one descriptor take it first.
const std::map<long, const char*>& calls() {
  static const std::map<long, const char*> names{
      {SYS_openat, "openat"},
      {SYS_openat2, "openat2"},
      {SYS_read, "read"},
      {SYS_pread64, "pread"},
      {SYS_write, "write"},
      {SYS_pwrite64, "pwrite"},
      {SYS_preadv2, "preadv2"},
      {SYS_pwritev2, "pwritev2"},
      {SYS_newfstatat, "fstatat"},
      {SYS_fstat, "fstat"},
      {SYS_statx, "statx"},
      {SYS_fsync, "fsync"},
      {SYS_fdatasync, "fdatasync"},
      {SYS_syncfs, "syncfs"},
      {SYS_close, "close"},
      {SYS_unlinkat, "unlinkat"},
      {SYS_renameat2, "renameat2"},
      {SYS_mkdirat, "mkdirat"},
      {SYS_mknodat, "mknodat"},
      {SYS_linkat, "linkat"},
      {SYS_symlinkat, "symlinkat"},
      {SYS_readlinkat, "readlinkat"},
      {SYS_ftruncate, "ftruncate"},
      {SYS_fallocate, "fallocate"},
      {SYS_getdents64, "getdents"},
      {SYS_fcntl, "fcntl"},
      {SYS_flock, "flock"},
      {SYS_fstatfs, "fstatfs"},
      {SYS_lseek, "lseek"},
      {SYS_copy_file_range, "copy_file_range"},
      {SYS_utimensat, "utimensat"},
      {SYS_fchownat, "fchownat"},
      {SYS_fchmod, "fchmod"},
      {SYS_fchmodat, "fchmodat"},
      {SYS_ioctl, "ioctl"},
      {SYS_open_by_handle_at, "open_by_handle_at"},
      {SYS_getxattr, "getxattr"},
      {SYS_setxattr, "setxattr"},
      {SYS_listxattr, "listxattr"},
      {SYS_removexattr, "removexattr"},
      {SYS_fgetxattr, "fgetxattr"},
      {SYS_fsetxattr, "fsetxattr"},
      {SYS_flistxattr, "flistxattr"},
      {SYS_fremovexattr, "fremovexattr"},
      {SYS_faccessat, "faccessat"},
  };
  return names;
}

struct Where {
  bool lower = false;  // in the underlying file system
  std::string text;
};

// Describes what a thread of this process does. Reading these files never blocks, because no thread of this process is ever in an
// exec.
Where where_is(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/syscall");
  std::string word, first;
  if (!(file >> word)) return {true, "waits for an unknown reason"};
  if (word == "running") return {false, "fsshim works on the request"};
  const long call = strtol(word.c_str(), nullptr, 10);
  file >> first;
  if (call == SYS_futex) return {false, "fsshim waits for another of its threads"};
  const auto name = calls().find(call);
  if (name == calls().end()) return {false, "fsshim waits in system call " + word};
  // Reading a file in /proc can block on the process that the file describes, not on the underlying file system.
  struct statfs fs;
  const auto fd = int(strtoull(first.c_str(), nullptr, 16));
  if ((call == SYS_read || call == SYS_pread64) && fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC)
    return {false, "fsshim waits for another process"};
  return {true, std::string("fsshim waits for the underlying file system, in ") + name->second};
}

// The innermost functions of the kernel that it is in, where we may know.
std::string stack_of(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stack");
  std::string text;
  int frames = 0;
  for (std::string address, function; frames < 4 && file >> address >> function; ++frames)
    text += (frames == 0 ? " (" : " < ") + function.substr(0, function.find('+'));
  return frames == 0 ? "" : text + ")";
}

}  // namespace

std::vector<std::string> StallWatch::look(int64_t now) {
  std::vector<std::string> news;
  if (limit_ == 0 || now < looked_at_ + kLookEvery) return news;
  looked_at_ = now;
  stalled_.clear();
  std::set<std::pair<pid_t, int64_t>> still;
  bool own = false, lower = false;
  std::vector<InFlightRequest> requests = in_flight_since(now - limit_);
  count_ = requests.size();
  if (count_ > kMostNamedRequests) requests.erase(requests.begin() + kMostNamedRequests, requests.end());
  for (const InFlightRequest& request : requests) {
    const Where where = where_is(request.thread);
    (where.lower ? lower : own) = true;
    const std::string thread = std::to_string(request.caller);
    const std::string caller =
        request.caller ? "thread " + thread + " (" + read_proc(thread, ProcFile::comm) + ")" : "the kernel";
    const std::string line = std::string(op_name(request.kind)) + " by " + caller + ", for " +
                             format_duration(now - request.since) + ": " + where.text;
    stalled_.push_back(line);
    still.insert({request.thread, request.since});
    if (!reported_.contains({request.thread, request.since}))
      news.push_back("no reply yet to " + line + stack_of(request.thread));
  }
  reported_ = std::move(still);
  own_fault_ = own && !lower;
  return news;
}

}  // namespace fsr::shim
