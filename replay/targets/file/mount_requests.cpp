// SPDX-License-Identifier: Apache-2.0
#include "mount_requests.hpp"

#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "mix/mountstats.hpp"
#include "mix/procedures.hpp"

namespace fsr {

namespace {

std::string contents(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// "device server:/export mounted on /mnt/nfs with fstype nfs statvers=1.1" -> "/mnt/nfs"; empty for anything but NFS.
std::string_view nfs_mount_point(std::string_view line) {
  constexpr std::string_view kOn = " mounted on ", kWith = " with fstype nfs";
  const size_t on = line.find(kOn), with = line.rfind(kWith);
  if (!line.starts_with("device ") || on == line.npos || with == line.npos || with < on + kOn.size()) return {};
  return line.substr(on + kOn.size(), with - on - kOn.size());
}

bool below(std::string_view directory, std::string_view mount) {
  return mount == "/" || (directory.starts_with(mount) && (directory.size() == mount.size() || directory[mount.size()] == '/'));
}

// Version 4 counts COMPOUNDs by what they are for; several of these are the same operation of the protocol.
void add(std::vector<std::pair<std::string, uint64_t>>& to, unsigned version, const std::string& printed, uint64_t count) {
  const int index = nfs_procedure_alias(version, true, printed);
  const std::string name = index < 0 ? printed : nfs_procedures(version)[size_t(index)];
  for (auto& [known, sum] : to)
    if (known == name) {
      sum += count;
      return;
    }
  to.emplace_back(name, count);
}

}  // namespace

std::vector<std::pair<std::string, uint64_t>> requests_of_mountstats(const std::string& text, const std::string& directory) {
  // The mount with the longest name above the directory; of several on the same one the last.
  size_t best = 0, at_best = text.npos;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view point = nfs_mount_point(std::string_view(text).substr(at, end - at));
    if (!point.empty() && below(directory, point) && point.size() >= best) {
      best = point.size();
      at_best = at;
    }
    at = end + 1;
  }
  std::vector<std::pair<std::string, uint64_t>> out;
  Mountstats stats;
  if (at_best == text.npos || !parse_mountstats(std::string_view(text).substr(at_best), &stats)) return out;
  for (const auto& [name, count] : stats.calls) add(out, stats.nfs_version, name, count);
  return out;
}

std::vector<std::pair<std::string, uint64_t>> requests_of_client(const std::string& text) {
  std::vector<std::pair<std::string, uint64_t>> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const unsigned version = line.starts_with("proc2 ") ? 2 : line.starts_with("proc3 ") ? 3 : 0;
    if (!version) continue;
    std::istringstream words(line.substr(6));
    uint64_t number = 0, count = 0;
    if (!(words >> number)) continue;
    for (const char* name : nfs_procedures(version))
      if (words >> count) add(out, version, name, count);
  }
  return out;
}

std::vector<std::pair<std::string, uint64_t>> mount_requests(const std::string& directory) {
  struct statfs fs;
  char resolved[PATH_MAX];
  if (statfs(directory.c_str(), &fs) != 0 || fs.f_type != NFS_SUPER_MAGIC || !realpath(directory.c_str(), resolved)) return {};
  auto of_mount = requests_of_mountstats(contents("/proc/self/mountstats"), resolved);
  return of_mount.empty() ? requests_of_client(contents("/proc/net/rpc/nfs")) : of_mount;
}

}  // namespace fsr
