// SPDX-License-Identifier: Apache-2.0
#include "mount.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "fail.hpp"

namespace fsr {

namespace {

// mountinfo writes blanks and backslashes as \ooo.
std::string unescape(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += char(strtol(text.substr(i + 1, 3).c_str(), nullptr, 8));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

void write_file(const char* path, const std::string& text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) throw failed(path, errno);
  ssize_t n = write(fd, text.data(), text.size());
  int error = errno;
  close(fd);
  if (n != ssize_t(text.size())) throw failed(path, error);
}

}  // namespace

std::vector<MountEntry> mounts() {
  std::vector<MountEntry> all;
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    MountEntry m;
    uint64_t parent;
    unsigned major_number, minor_number;
    char colon;
    std::string root, point, options, word, super;
    in >> m.id >> parent >> major_number >> colon >> minor_number >> root >> point >> options;
    while (in >> word && word != "-") {
    }
    in >> m.type >> m.source >> super;
    m.dev = makedev(major_number, minor_number);
    m.point = unescape(point);
    m.source = unescape(m.source);
    m.options = options + "," + super;
    all.push_back(m);
  }
  return all;
}

std::optional<MountEntry> mount_of(int fd) {
  struct statx s;
  if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &s) != 0 || !(s.stx_mask & STATX_MNT_ID)) return {};
  for (MountEntry& m : mounts())
    if (m.id == s.stx_mnt_id) return m;
  return {};
}

std::optional<MountEntry> mount_at(const std::string& path) {
  std::optional<MountEntry> found;
  for (MountEntry& m : mounts())
    if (m.point == path) found = m;
  return found;
}

int open_fuse_device() {
  int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (fd >= 0) return fd;
  if (errno == ENOENT || errno == ENODEV || errno == ENXIO)
    throw Fail("/dev/fuse is missing: load the kernel's fuse module (modprobe fuse)");
  if (errno == EACCES || errno == EPERM)
    throw Fail("no permission for /dev/fuse: run as root, or make it accessible (chmod 666 /dev/fuse)");
  throw failed("/dev/fuse", errno);
}

uint64_t mount_over(int dir_fd, int fuse_fd, const std::string& source) {
  struct statvfs below;
  struct stat s;
  if (fstatvfs(dir_fd, &below) != 0 || fstat(dir_fd, &s) != 0) throw failed(source, errno);
  unsigned long flags = 0;
  if (below.f_flag & ST_RDONLY) flags |= MS_RDONLY;
  if (below.f_flag & ST_NOSUID) flags |= MS_NOSUID;
  if (below.f_flag & ST_NODEV) flags |= MS_NODEV;
  if (below.f_flag & ST_NOEXEC) flags |= MS_NOEXEC;
  char options[128];
  snprintf(options, sizeof options, "fd=%d,rootmode=%o,user_id=%u,group_id=%u,allow_other", fuse_fd, unsigned(s.st_mode & S_IFMT),
           unsigned(getuid()), unsigned(getgid()));
  std::string point = "/proc/self/fd/" + std::to_string(dir_fd);
  if (mount(source.c_str(), point.c_str(), kMountType, flags, options) != 0) {
    if (errno == EPERM) throw Fail(source + ": no permission to mount over it: run as root, or give a command after --");
    throw failed(source + ": mounting over it", errno);
  }
  // The newest mount of our type with that source, wherever the path leads by now.
  uint64_t dev = 0;
  for (const MountEntry& m : mounts())
    if (m.type == kMountType && m.source == source) dev = m.dev;
  return dev;
}

void enter_private_namespace(bool user) {
  uid_t uid = getuid();
  gid_t gid = getgid();
  if (unshare(CLONE_NEWNS | (user ? CLONE_NEWUSER : 0)) != 0) {
    if (user)
      throw Fail(std::string("no private namespace for an unprivileged user (") + strerror(errno) +
                 "): run as root, or allow user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone)");
    throw failed("private mount namespace", errno);
  }
  if (user) {
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", std::to_string(uid) + " " + std::to_string(uid) + " 1");
    write_file("/proc/self/gid_map", std::to_string(gid) + " " + std::to_string(gid) + " 1");
  }
  if (mount(nullptr, "/", nullptr, MS_SLAVE | MS_REC, nullptr) != 0) throw failed("private mount namespace", errno);
}

bool take_away(const std::string& path, uint64_t dev) {
  std::optional<MountEntry> top = mount_at(path);
  if (!top || top->type != kMountType || top->dev != dev) return false;
  if (umount2(path.c_str(), UMOUNT_NOFOLLOW) == 0) return true;
  return umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0;
}

Watcher::Watcher(const std::string& path) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw failed("pipe", errno);
  pid_ = fork();
  if (pid_ < 0) throw failed("fork", errno);
  if (pid_ != 0) {
    close(ends[0]);
    pipe_ = ends[1];
    return;
  }
  close(ends[1]);
  setsid();
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(signal, SIG_IGN);
  uint64_t dev = 0, next;
  while (read(ends[0], &next, sizeof next) == ssize_t(sizeof next)) dev = next;
  // The other end is gone. After an orderly end there is nothing left to take away.
  if (dev != 0 && take_away(path, dev))
    dprintf(2, "fsshim: the capture of %s died; the directory is usable again\n", path.c_str());
  _exit(0);
}

Watcher::~Watcher() {
  if (pipe_ >= 0) close(pipe_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

void Watcher::arm(uint64_t dev) {
  if (write(pipe_, &dev, sizeof dev) != ssize_t(sizeof dev)) throw failed("watcher", errno);
}

bool is_dead_mount(const std::string& path) {
  struct stat s;
  return stat(path.c_str(), &s) != 0 && (errno == ENOTCONN || errno == ECONNABORTED);
}

std::string mountstats_of(const std::string& point) {
  std::ifstream file("/proc/self/mountstats");
  std::string section;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("device ")) inside = line.find(" mounted on " + point + " with fstype nfs") != std::string::npos;
    if (inside) section += line + "\n";
  }
  return section;
}

}  // namespace fsr
