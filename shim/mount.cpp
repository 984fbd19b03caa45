// SPDX-License-Identifier: Apache-2.0
#include "mount.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "capture_error.hpp"
#include "helper_process.hpp"
#include "id_maps.hpp"
#include "proc_read.hpp"

namespace fsr::shim {

std::vector<MountEntry> mounts(const std::string& process) { return parse_mountinfo(read_proc(process, ProcFile::mountinfo)); }

bool is_mounted_on(const std::string& source, const std::string& process) {
  std::set<uint64_t> ours;
  std::vector<MountEntry> all = mounts(process);
  for (const MountEntry& m : all)
    if (m.type == kMountType && m.source == source) ours.insert(m.id);
  return std::any_of(all.begin(), all.end(), [&](const MountEntry& m) { return ours.contains(m.parent); });
}

OwnMount identity_of(const MountEntry& mount) {
  return {mount.id, mount.dev, XXH3_64bits(mount.source.data(), mount.source.size())};
}

OwnMount own_mount(const MountEntry& mount) { return mount.type == kMountType ? identity_of(mount) : OwnMount{}; }

std::optional<MountEntry> mount_of_source(const std::string& source, const std::string& process) {
  std::optional<MountEntry> newest;
  for (MountEntry& m : mounts(process))
    if (m.type == kMountType && m.source == source) newest = m;
  return newest;
}

// Enters the mount namespace that holds `mount`, through any process there. A process may end meanwhile, as children of a shell
// do. Then the next one is tried. False: no process is left.
static bool enter_namespace_of(const OwnMount& mount) {
  for (bool one_ended = true; one_ended;) {
    one_ended = false;
    const std::vector<pid_t> pids = process_ids();
    for (auto pid = pids.rbegin(); pid != pids.rend(); ++pid) {  // the newest first: they are more likely a command's
      const std::vector<MountEntry> all = mounts(std::to_string(*pid));
      if (std::none_of(all.begin(), all.end(), [&](const MountEntry& m) { return own_mount(m) == mount; })) continue;
      const int process = int(syscall(SYS_pidfd_open, *pid, 0));
      if (process >= 0 && setns(process, CLONE_NEWNS) == 0) return true;
      one_ended = one_ended || errno == ESRCH;
      if (process >= 0) close(process);
    }
  }
  return false;
}

bool act_where_mounted(const OwnMount& mount, const std::function<bool()>& act) {
  constexpr int kTimeoutMs = 5000;
  const pid_t child = start_helper({}, [&] { _exit(enter_namespace_of(mount) && act() ? 0 : 1); });
  if (child < 0) return false;
  int status = -1;
  pollfd ended{int(syscall(SYS_pidfd_open, child, 0)), POLLIN, 0};
  if (ended.fd >= 0 && poll(&ended, 1, kTimeoutMs) > 0) waitpid(child, &status, 0);
  if (ended.fd >= 0) close(ended.fd);
  return status == 0;
}

std::optional<MountEntry> mount_at(const std::string& path) {
  std::optional<MountEntry> found;
  for (MountEntry& m : mounts())
    if (m.point == path) found = m;
  return found;
}

std::vector<MountEntry> mounts_inside(const std::string& directory) {
  std::vector<MountEntry> inside;
  for (MountEntry& m : mounts())
    if (lies_inside(m, directory)) inside.push_back(std::move(m));
  return inside;
}

std::string mount_text(const MountEntry& m, const std::string& directory) {
  return m.point.substr(directory == "/" ? 1 : directory.size() + 1) + ": " + m.type + " from " + m.source + " on " +
         std::to_string(major(m.dev)) + ":" + std::to_string(minor(m.dev)) + " (" + m.options + ")";
}

unsigned long flags_of(const MountEntry& mount) {
  unsigned long flags = 0;
  std::istringstream options(mount.options);
  for (std::string option; std::getline(options, option, ',');) {
    if (option == "nosuid") flags |= MS_NOSUID;
    if (option == "nodev") flags |= MS_NODEV;
    if (option == "noexec") flags |= MS_NOEXEC;
    if (option == "ro") flags |= MS_RDONLY;
  }
  return flags;
}

// Returns the MS_ flags of a mount. statvfs(3) has them as ST_ flags, with the same values.
static unsigned long own_flags(const struct statvfs& s) {
  static_assert(int(ST_NOSUID) == int(MS_NOSUID) && int(ST_NODEV) == int(MS_NODEV) && int(ST_NOEXEC) == int(MS_NOEXEC) &&
                int(ST_RDONLY) == int(MS_RDONLY));
  return s.f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY);
}

unsigned long restrictions(int dir_fd, const std::string& directory) {
  struct statvfs own;
  if (fstatvfs(dir_fd, &own) != 0) throw failed(directory, errno);
  unsigned long any = own_flags(own), all = any;
  for (const MountEntry& m : mounts_inside(directory)) {
    any |= flags_of(m);
    all &= flags_of(m);
  }
  return (any & (MS_NOSUID | MS_NODEV)) | (all & (MS_NOEXEC | MS_RDONLY));
}

bool restrict_mount(const std::string& path, unsigned long flags) {
  struct statvfs own;
  return statvfs(path.c_str(), &own) == 0 &&
         mount(nullptr, path.c_str(), nullptr, MS_REMOUNT | MS_BIND | own_flags(own) | flags, nullptr) == 0;
}

// Advice for a root that may not mount.
static const char* const kMountingRoot =
    "root here lacks CAP_SYS_ADMIN, which mounting requires; give the container --cap-add SYS_ADMIN --device /dev/fuse";

int open_fuse_device() {
  int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (fd >= 0) {
    struct stat s;
    if (fstat(fd, &s) == 0 && S_ISCHR(s.st_mode) && s.st_rdev == makedev(10, 229)) return fd;
    close(fd);
    throw CaptureError(
        "/dev/fuse is not the kernel's FUSE device: create the device (mknod /dev/fuse c 10 229), or give the container --device "
        "/dev/fuse");
  }
  if (errno == ENOENT || errno == ENODEV || errno == ENXIO)
    throw CaptureError(
        "/dev/fuse is missing: load the kernel's fuse module (modprobe fuse), or give the container --device /dev/fuse");
  if (errno == EACCES || errno == EPERM)
    throw CaptureError("no permission for /dev/fuse: run as root, or make the device accessible (chmod 666 /dev/fuse)");
  throw failed("/dev/fuse", errno);
}

void become_silent(int log_fd) {
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) dup2(null, 0);
  if (null > 2) close(null);
  dup2(log_fd, 1);
  dup2(log_fd, 2);
}

// True: this process's user namespace has more than one user or group.
static bool maps_several_ids() {
  auto several = [](const std::string& map) { return std::count(map.begin(), map.end(), '\n') > 1; };
  return several(read_proc("self", ProcFile::uid_map)) || several(read_proc("self", ProcFile::gid_map));
}

OwnMount mount_over(int dir_fd, int fuse_fd, const std::string& source, bool kernel_checks) {
  struct stat s;
  if (fstat(dir_fd, &s) != 0) throw failed(source, errno);
  unsigned long flags = restrictions(dir_fd, source);
  // A program that is set to a subordinate id would run as that, but its requests are made as this user.
  if (geteuid() != 0 && maps_several_ids()) flags |= MS_NOSUID;
  char options[128];
  snprintf(options, sizeof options, "fd=%d,rootmode=%o,user_id=%u,group_id=%u,allow_other%s", fuse_fd,
           unsigned(s.st_mode & S_IFMT), unsigned(getuid()), unsigned(getgid()), kernel_checks ? ",default_permissions" : "");
  std::string point = "/proc/self/fd/" + std::to_string(dir_fd);
  if (mount(source.c_str(), point.c_str(), kMountType, flags, options) != 0) {
    if (errno == EPERM && geteuid() == 0)
      throw CaptureError(source + ": no permission to mount over the directory: " + kMountingRoot);
    if (errno == EPERM)
      throw CaptureError(source + ": no permission to mount over the directory: run as root, or give a command after --");
    throw failed(source + ": can't mount over the directory", errno);
  }
  // Find the mount by its source, because the path may lead to another mount by now.
  const std::optional<MountEntry> made = mount_of_source(source);
  return made ? own_mount(*made) : OwnMount{};
}

void enter_private_namespace(bool user) {
  auto refused = [&](const std::string& why) {
    if (!user)
      return CaptureError("no private mount namespace: " + why + (errno == EPERM ? std::string("; ") + kMountingRoot : ""));
    return CaptureError(
        "no private namespace for an unprivileged user (" + why +
        "): run as root, or allow user namespaces (sysctl user.max_user_namespaces=15000, kernel.unprivileged_userns_clone=1, "
        "kernel.apparmor_restrict_unprivileged_userns=0, whichever there is)");
  };
  std::optional<IdMaps> maps;
  if (user) maps.emplace();
  if (unshare(CLONE_NEWNS | (user ? CLONE_NEWUSER : 0)) != 0) throw refused(strerror(errno));
  // This fails if a security module allows the namespace but no action in it.
  if (user) try {
      maps->write();
    } catch (const CaptureError& e) {
      throw refused(e.what());
    }
  if (mount(nullptr, "/", nullptr, MS_SLAVE | MS_REC, nullptr) != 0) throw refused(strerror(errno));
}

static std::optional<MountEntry> present(const OwnMount& mount) {
  for (MountEntry& m : mounts())
    if (identity_of(m) == mount) return m;
  return {};
}

static std::string fd_path(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

MountPathHandle::MountPathHandle(int dir_fd) {
  char path[PATH_MAX];
  const ssize_t size = readlink(fd_path(dir_fd).c_str(), path, sizeof path);
  if (size <= 0) return;
  const std::string whole(path, size_t(size));
  name_ = whole.substr(whole.rfind('/') + 1);
  above_ = openat(dir_fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

MountPathHandle::~MountPathHandle() {
  if (above_ >= 0) close(above_);
}

int MountPathHandle::open_top() const { return openat(above_, name_.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }

// Detaches `mount` if it is the mount behind the descriptor `top` (O_PATH), and closes the descriptor. Returns the reason of a
// failure; empty: detached.
static std::string detach(int top, const OwnMount& mount) {
  if (top < 0) return strerror(errno);
  std::string why;
  const std::optional<MountEntry> seen = mount_of(top);
  if (!seen || identity_of(*seen) != mount)
    why = seen ? seen->type + " from " + seen->source + " is mounted over the directory" : "the directory is not reachable";
  else if (umount2(fd_path(top).c_str(), MNT_DETACH) != 0)
    why = strerror(errno);
  close(top);
  return why;
}

std::string take_away(const OwnMount& mount, const MountPathHandle* way) {
  const std::optional<MountEntry> now = present(mount);
  if (!now) return {};
  std::string why;
  if (way) why = detach(way->open_top(), mount);
  if (!way || !why.empty()) why = detach(open(now->point.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), mount);
  return present(mount) ? why : std::string();
}

Watcher::Watcher(const MountPathHandle& way, const std::string& path, int log_fd) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw failed("pipe", errno);
  pid_ = start_helper({0, 1, 2, log_fd, ends[0], way.above()}, [&] {
    if (log_fd >= 0) become_silent(log_fd);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(signal, SIG_IGN);
    OwnMount armed, next;
    while (read(ends[0], &next, sizeof next) == ssize_t(sizeof next)) armed = next;
    // The other end is gone. After an orderly end there is nothing left to take away.
    if (armed.dev == 0 || !present(armed)) return;
    if (const std::string why = take_away(armed, &way); why.empty())
      dprintf(2, "fsshim: the capture of %s died; the directory is usable again\n", path.c_str());
    else
      dprintf(2, "fsshim: the capture of %s died and is still mounted: %s\n", path.c_str(), why.c_str());
  });
  if (pid_ < 0) throw failed("fork", errno);
  close(ends[0]);
  pipe_ = ends[1];
}

Watcher::~Watcher() {
  if (pipe_ >= 0) close(pipe_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

void Watcher::arm(const OwnMount& mount) {
  if (write(pipe_, &mount, sizeof mount) != ssize_t(sizeof mount))
    throw failed("can't send to the process that watches the mount", errno);
}

bool is_dead_mount(const std::string& path) {
  struct stat s;
  return stat(path.c_str(), &s) != 0 && (errno == ENOTCONN || errno == ECONNABORTED);
}

std::string resolve_captured(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  size_t slash = path.find_last_of('/');
  std::string last = slash == std::string::npos ? path : path.substr(slash + 1);
  char resolved[PATH_MAX];
  std::string parent = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  if (!last.empty() && last != "." && last != ".." && realpath(parent.c_str(), resolved)) {
    std::string whole = (resolved == std::string("/") ? "" : resolved) + ("/" + last);
    if (std::optional<MountEntry> top = mount_at(whole); top && top->type == kMountType) return whole;
  }
  if (realpath(path.c_str(), resolved)) return resolved;
  // A capture that died is still known by that name.
  if (errno == ENOENT && path.starts_with('/')) return path;
  if (errno == ENOENT && getcwd(resolved, sizeof resolved)) return std::string(resolved) + "/" + path;
  throw failed(path, errno);
}

NfsCounters nfs_counters_of(const std::string& point) {
  NfsCounters counters;
  std::ifstream file("/proc/self/mountstats");
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("device ")) inside = line.find(" mounted on " + point + " with fstype nfs") != std::string::npos;
    if (inside) counters.mountstats += line + "\n";
  }
  if (!counters.mountstats.empty()) {
    std::ifstream rpc("/proc/net/rpc/nfs");
    counters.rpc.assign(std::istreambuf_iterator<char>(rpc), {});
  }
  return counters;
}

}  // namespace fsr::shim
