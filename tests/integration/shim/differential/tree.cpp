// SPDX-License-Identifier: Apache-2.0
#include "tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

namespace differential {

namespace {

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  DIR* d = fdopendir(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC));
  if (d == nullptr) return {std::string("?") + strerrorname_np(errno)};
  while (dirent* e = readdir(d)) {
    std::string name = e->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  closedir(d);
  std::sort(names.begin(), names.end());
  return names;
}

std::string content(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOATIME);
  if (fd < 0) return strerrorname_np(errno);
  uint64_t hash = 0;
  static char buffer[1 << 17];
  ssize_t n;
  while ((n = read(fd, buffer, sizeof buffer)) > 0) hash = XXH3_64bits_withSeed(buffer, size_t(n), hash);
  int error = errno;
  close(fd);
  char text[32];
  snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return n < 0 ? strerrorname_np(error) : text;
}

std::string xattrs(const std::string& path) {
  char list[4096], value[66000];
  ssize_t n = llistxattr(path.c_str(), list, sizeof list);
  if (n < 0) return std::string(" xattrs ") + strerrorname_np(errno);
  std::vector<std::string> names;
  for (const char* p = list; p < list + n; p += strlen(p) + 1) names.emplace_back(p);
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) {
    ssize_t length = lgetxattr(path.c_str(), name.c_str(), value, sizeof value);
    text += " " + name + "=" + std::to_string(length) + ":" +
            std::to_string(length < 0 ? 0 : XXH3_64bits(value, size_t(length)) % 100000);
  }
  return text;
}

class Description {
 public:
  explicit Description(time_t began) : began_(began) {}
  std::string text;

  void add(const std::string& path, const std::string& name) {
    struct stat s;
    if (lstat(path.c_str(), &s) != 0) {
      text += name + ": " + strerrorname_np(errno) + "\n";
      return;
    }
    char line[256];
    snprintf(line, sizeof line, ": mode 0%o owner %u:%u links %lu size %lld device %lx modified %s", s.st_mode, s.st_uid,
             s.st_gid, static_cast<unsigned long>(s.st_nlink), S_ISDIR(s.st_mode) ? 0LL : static_cast<long long>(s.st_size),
             static_cast<unsigned long>(s.st_rdev), S_ISFIFO(s.st_mode) ? "whenever" : when(s.st_mtim).c_str());
    text += name + line;
    if (!S_ISDIR(s.st_mode) && s.st_nlink > 1) text += " same as " + first_names_.try_emplace(s.st_ino, name).first->second;
    if (S_ISREG(s.st_mode)) text += " content " + content(path);
    if (S_ISLNK(s.st_mode)) text += " to " + target(path);
    text += xattrs(path) + "\n";
    if (!S_ISDIR(s.st_mode)) return;
    for (const std::string& child : names_in(path)) add(path + "/" + child, name + "/" + child);
  }

 private:
  std::string when(const timespec& t) const {
    if (t.tv_sec >= began_ - 2 && t.tv_sec < began_ + 1000) return "now";
    return std::to_string(t.tv_sec) + "." + std::to_string(t.tv_nsec);
  }
  static std::string target(const std::string& path) {
    char to[5000];
    ssize_t n = readlink(path.c_str(), to, sizeof to);
    return n < 0 ? strerrorname_np(errno) : std::string(to, size_t(n)).substr(0, 80);
  }
  time_t began_;
  std::map<ino_t, std::string> first_names_;
};

void clear_flags(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC), none = 0;
  if (fd < 0) return;
  ioctl(fd, FS_IOC_SETFLAGS, &none);
  close(fd);
}

}  // namespace

void describe_tree(const char* directory, time_t began, char* text, size_t size) {
  Description d(began);
  d.add(directory, ".");
  snprintf(text, size, "%s", d.text.c_str());
}

std::string remove_tree(const std::string& directory) {
  struct stat s;
  std::string problem;
  if (lstat(directory.c_str(), &s) == 0 && S_ISDIR(s.st_mode)) {
    for (const std::string& name : names_in(directory)) {
      std::string left = remove_tree(directory + "/" + name);
      if (problem.empty()) problem = left;
    }
  }
  if (remove(directory.c_str()) == 0) return problem;
  if (!S_ISLNK(s.st_mode) && !S_ISSOCK(s.st_mode)) clear_flags(directory);
  clear_flags(directory.substr(0, directory.rfind('/')));
  if (remove(directory.c_str()) == 0) return problem;
  return directory + ": " + strerror(errno);
}

std::string empty_tree(const std::string& directory) {
  clear_flags(directory);
  for (const std::string& name : names_in(directory)) {
    const std::string path = directory + "/" + name;
    const std::string problem = remove_tree(path);
    if (problem.empty()) continue;
    // It is a mount point, or lies in one that is read-only and gets empty by its other place.
    struct stat s;
    if (lstat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode)) empty_tree(path);
  }
  char list[4096];
  const ssize_t n = llistxattr(directory.c_str(), list, sizeof list);
  for (const char* p = list; p < list + n; p += strlen(p) + 1) lremovexattr(directory.c_str(), p);
  utimensat(AT_FDCWD, directory.c_str(), nullptr, 0);
  const bool plain = lchown(directory.c_str(), 0, 0) == 0 && chmod(directory.c_str(), 0777) == 0;
  return plain || errno == EROFS ? "" : directory + ": " + strerror(errno);
}

}  // namespace differential
