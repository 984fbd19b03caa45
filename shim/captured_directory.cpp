// SPDX-License-Identifier: Apache-2.0
#include "captured_directory.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "backing.hpp"
#include "bound_sockets.hpp"
#include "capture_error.hpp"
#include "control.hpp"
#include "credentials.hpp"
#include "fuse_session.hpp"
#include "is_below.hpp"
#include "own_groups.hpp"
#include "unseen_processes.hpp"
#include "util/units.hpp"

namespace fsr::shim {

namespace {

// Directories that a capture itself needs, by their paths, in order to serve.
void refuse_needed(const std::string& directory, int root, const std::string& type, bool over_mount) {
  if (directory == "/")
    throw CaptureError(
        "/: can't be captured: running programs would not see the capture, and the trace would lie inside; capture a directory "
        "below /");
  if (type == "proc")
    throw CaptureError(directory + ": can't be captured: the content of /proc depends on the process that reads");
  const std::string control = control_directory(true);
  const UniqueFd sockets(open(control.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (over_mount && sockets && is_below(sockets.get(), root))
    throw CaptureError(directory + ": can't be captured, because fsshim's control sockets in " + control +
                       " would be out of reach; capture a subdirectory that does not hold these sockets");
}

}  // namespace

int open_directory(const std::string& directory) {
  int fd = open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) throw failed(directory, errno);
  return fd;
}

static bool same_directory(int a, int b) {
  struct stat one, other;
  return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static void refuse_captured(const std::optional<MountEntry>& mount, const std::string& directory) {
  if (mount && mount->type == kMountType) throw CaptureError(directory + ": already captured (see 'fsshim list')");
}

std::string absolute_directory(const std::string& directory) {
  if (is_dead_mount(directory))
    throw CaptureError(directory + ": left behind by a capture that died; run 'fsshim stop " + directory + "'");
  const UniqueFd given(open_directory(directory));
  char resolved[PATH_MAX];
  const UniqueFd named(realpath(directory.c_str(), resolved) ? open(resolved, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1);
  const int error = errno;
  if (same_directory(given.get(), named.get())) return resolved;
  // A link in /proc, such as /proc/PID/root, leads elsewhere than its text.
  if (!mount_of(given.get()))
    throw CaptureError(directory +
                       ": belongs to another mount namespace or root; give the path that the directory has here (to capture a "
                       "running container, the path of its volume, with --via kernel --pod)");
  if (!named) throw failed(directory, error);
  refuse_captured(mount_of(named.get()), directory);
  throw CaptureError(directory + ": covered by a mount; to capture what is mounted there, give " + resolved);
}

void same_directory_or_fail(int a, int b, const std::string& directory) {
  if (!same_directory(a, b))
    throw CaptureError(directory + ": replaced by another directory while the capture started; start the capture again");
}

void refuse_captured(const MountPathHandle& way, const std::string& directory) {
  const UniqueFd top(way.open_top());
  refuse_captured(top ? mount_of(top.get()) : std::nullopt, directory);
}

// The kernel names callers by their ids in this process's pid namespace. In the /proc of another one these are other processes,
// whose groups and capabilities the callers would get.
static void refuse_foreign_proc() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line) && !line.starts_with("NSpid:")) continue;
  std::istringstream ids(line.substr(std::min(line.size(), line.find(':') + 1)));
  pid_t first = 0, more = 0;
  if (ids >> first && first == getpid() && !(ids >> more)) return;
  throw CaptureError(
      "callers can't be identified: /proc belongs to another pid namespace; mount the /proc of this namespace (mount -t proc "
      "proc /proc)");
}

CapturedDirectory find_captured(CaptureOptions& options) {
  refuse_foreign_proc();
  const bool root_user = geteuid() == 0, in_namespace = !options.command.empty();
  const std::string directory = absolute_directory(options.directory);
  UniqueFd root(open_directory(directory));
  std::optional<MountEntry> below = mount_of(root.get());
  if (!below)
    throw CaptureError(directory +
                       ": the mount of this directory is not in /proc/self/mountinfo, as in a chroot whose root is not a mount "
                       "point; capture from outside, or make the root a mount point (mount --bind ROOT ROOT) before chroot");
  refuse_captured(below, directory);
  refuse_needed(directory, root.get(), below->type, !in_namespace);
  if (options.uring)
    if (const std::string problem = uring_problem(); !problem.empty()) throw CaptureError(problem);
  if (!root_user && !in_namespace)
    throw CaptureError(directory + ": no permission to mount over the directory: run as root, or give a command after --");
  set_may_switch(root_user);
  if (root_user && !can_switch())
    throw CaptureError(
        "root here lacks CAP_SETUID or CAP_SETGID, without which every user would act as root; give the container --cap-add "
        "SETUID --cap-add SETGID");
  // Each thread that serves has a umask and a working directory of its own (prepare_thread()).
  if (unshare(CLONE_FS) != 0) throw failed("unshare(CLONE_FS), which keeps users' umasks apart", errno);
  if (!root_user) {
    dprintf(STDERR_FILENO, "fsshim: %s\n", escape_text(limits_without_root()).c_str());
    UniqueFd probe(open_fuse_device());
    enter_private_namespace(true);
    note_own_capabilities();
    root = UniqueFd(open_directory(directory));
  }
  return {directory, std::move(root), std::move(*below)};
}

// Into the trace, and what of it changes how the whole of the directory behaves also to the user.
static void report_mounts(const CapturedDirectory& captured, TraceHeader& header) {
  const std::string& directory = captured.path;
  const int root = captured.root.get();
  constexpr unsigned long kUnsafe = MS_NOSUID | MS_NODEV;
  for (const MountEntry& m : mounts_inside(directory)) header.mounts_below.push_back(mount_text(m, directory));
  struct statvfs own;
  if (unsigned long more = fstatvfs(root, &own) == 0 ? restrictions(root, directory) & kUnsafe & ~own.f_flag : 0)
    dprintf(STDERR_FILENO, "fsshim: %s: the whole directory is %s during the capture, because a file system mounted inside is\n",
            escape_text(directory).c_str(),
            more == kUnsafe     ? "nosuid and nodev"
            : more == MS_NOSUID ? "nosuid"
                                : "nodev");
}

std::string mapping_problem(const std::vector<std::string>& processes, const std::string& mappings_differ) {
  if (processes.empty() || mappings_differ.empty()) return {};
  std::string names;
  for (const std::string& process : processes) names += (names.empty() ? "" : ", ") + process;
  return "files are mapped shared and writable by " + names +
         ": data that these and captured processes write may be lost, because captured processes get other mappings of the "
         "files (" +
         mappings_differ + "); end these processes first, or give --force";
}

std::string mapping_problem_inside(const std::string& directory, const std::string& type) {
  for (const MountEntry& m : mounts_inside(directory))
    if (const std::string why = why_seen_inside(m.type, type); !why.empty())
      if (std::string problem = mapping_problem(processes_below(m.point).mapping, m.point + " is on " + why); !problem.empty())
        return problem;
  return {};
}

void report_limits(const CapturedDirectory& captured, TraceHeader& header, const std::string& mappings_differ, bool force) {
  const std::string& directory = captured.path;
  report_mounts(captured, header);
  UnseenProcesses holders = processes_below(directory);
  if (!force && !holders.mapping.empty()) {
    const std::string problem = mappings_differ.empty() ? mapping_problem_inside(directory, captured.below.type)
                                                        : mapping_problem(holders.mapping, mappings_differ);
    if (!problem.empty()) throw CaptureError(directory + ": " + problem);
  }
  for (const std::string& process : header.not_seen = std::move(holders.processes))
    dprintf(STDERR_FILENO, "fsshim: not seen, because files below the directory were held before the capture: %s\n",
            escape_text(process).c_str());
  for (const std::string& process : holders.not_looked_at) {
    dprintf(STDERR_FILENO, "fsshim: not checked for files below the directory, because the process does not answer: %s\n",
            escape_text(process).c_str());
    header.not_seen.push_back(process + " (not checked)");
  }
}

void report_sockets(const std::string& directory, TraceHeader& header) {
  for (const std::string& path : sockets_below(directory)) {
    dprintf(STDERR_FILENO, "fsshim: socket not reachable through the capture, because bound before: %s\n",
            escape_text(path).c_str());
    header.not_seen.push_back("socket " + path + ", bound before");
  }
}

}  // namespace fsr::shim
