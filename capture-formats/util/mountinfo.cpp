// SPDX-License-Identifier: Apache-2.0
#include "util/mountinfo.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace fsr {

namespace {

// Blanks and backslashes are written as \ooo.
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

}  // namespace

std::vector<MountEntry> own_mounts() {
  std::ifstream file("/proc/self/mountinfo");
  return parse_mountinfo({std::istreambuf_iterator<char>(file), {}});
}

std::vector<MountEntry> parse_mountinfo(const std::string& text) {
  std::vector<MountEntry> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    MountEntry m;
    unsigned major_number, minor_number;
    char colon;
    std::string point, options, word, super;
    in >> m.id >> m.parent >> major_number >> colon >> minor_number >> m.root >> point >> options;
    while (in >> word && word != "-") {
    }
    in >> m.type >> m.source >> super;
    m.dev = makedev(major_number, minor_number);
    m.root = unescape(m.root);
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
  for (MountEntry& m : own_mounts())
    if (m.id == s.stx_mnt_id) return m;
  return {};
}

bool lies_inside(const MountEntry& mount, const std::string& directory) {
  const std::string prefix = directory == "/" ? directory : directory + "/";
  return mount.point.starts_with(prefix) && mount.point != prefix;
}

std::vector<std::string> mount_points_below(int dir_fd) {
  std::vector<std::string> points;
  const std::optional<MountEntry> own = mount_of(dir_fd);
  char path[PATH_MAX];
  const ssize_t size = readlink(("/proc/self/fd/" + std::to_string(dir_fd)).c_str(), path, sizeof path);
  if (!own || size <= 0) return points;
  const std::string directory(path, size_t(size));
  for (const MountEntry& m : own_mounts())
    if (m.parent == own->id && lies_inside(m, directory))
      points.push_back(m.point.substr(directory == "/" ? 1 : directory.size() + 1));
  return points;
}

}  // namespace fsr
