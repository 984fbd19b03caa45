// SPDX-License-Identifier: Apache-2.0
#include "mount_requests.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "mix/mountstats.hpp"
#include "mix/procedures.hpp"
#include "util/mountinfo.hpp"
#include "util/unique_fd.hpp"

namespace fsr {

namespace {

std::string contents(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Returns the mount point of a line of mountstats: "device server:/export mounted on /mnt/nfs with fstype nfs statvers=1.1" ->
// "/mnt/nfs". Empty: not a mount of NFS.
std::string_view nfs_mount_point(std::string_view line) {
  constexpr std::string_view kOn = " mounted on ", kWith = " with fstype nfs";
  const size_t on = line.find(kOn), with = line.rfind(kWith);
  if (!line.starts_with("device ") || on == line.npos || with == line.npos || with < on + kOn.size()) return {};
  return line.substr(on + kOn.size(), with - on - kOn.size());
}

bool below(std::string_view directory, std::string_view mount) {
  return mount == "/" || (directory.starts_with(mount) && (directory.size() == mount.size() || directory[mount.size()] == '/'));
}

// Adds `count` to the procedure that the kernel calls `printed`. The kernel counts COMPOUNDs of version 4 by their purpose, and
// several purposes are the same operation of the protocol.
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
  // Take the mount with the longest mount point above the directory. If several have the same mount point, take the last.
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

bool on_nfs(int fd) {
  struct statfs fs;
  return fstatfs(fd, &fs) == 0 && fs.f_type == NFS_SUPER_MAGIC;
}

static std::string encoded(std::string_view path) {
  std::string out;
  for (const unsigned char c : path)
    out += isalnum(c) || strchr("/-._~", c) ? std::string(1, char(c)) : fmt::format("%{:02x}", c);
  return out;
}

// Builds the URL from a mount of "server:/export" whose options may include addr=, port=, mountport= and vers=.
std::string mount_url(const MountEntry& mount, const std::string& directory) {
  auto option = [&](const char* name) {
    const std::string options = "," + mount.options + ",", key = fmt::format(",{}=", name);
    const size_t at = options.find(key);
    return at == options.npos ? std::string()
                              : options.substr(at + key.size(), options.find(',', at + key.size()) - at - key.size());
  };
  const std::string address = option("addr"), port = option("port"), mount_port = option("mountport");
  const size_t colon = mount.source.rfind(":/");
  if (!mount.type.starts_with("nfs") || address.empty() || colon == std::string::npos) return "";
  const bool four = option("vers").starts_with("4");
  std::string url = address.find(':') == std::string::npos ? "nfs://" + address : "nfs://[" + address + "]";
  if (!port.empty() && port != "0") url += ":" + port;
  std::string path = mount.source.substr(colon + 1);
  if (directory.size() > mount.point.size() && mount.point != "/") {
    if (path.ends_with('/')) path.pop_back();
    path += directory.substr(mount.point.size());
  }
  url += encoded(path);
  if (four) return url + "?version=4.1";
  return mount_port.empty() || mount_port == "0" ? url : url + "?mountport=" + mount_port;
}

std::string mount_url(const std::string& directory) {
  const UniqueFd fd(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  char resolved[PATH_MAX];
  if (!fd || !on_nfs(fd.get()) || !realpath(directory.c_str(), resolved)) return "";
  const std::optional<MountEntry> mount = mount_of(fd.get());
  return mount ? mount_url(*mount, resolved) : "";
}

std::vector<std::pair<std::string, uint64_t>> mount_requests(const std::string& directory) {
  struct statfs fs;
  char resolved[PATH_MAX];
  if (statfs(directory.c_str(), &fs) != 0 || fs.f_type != NFS_SUPER_MAGIC || !realpath(directory.c_str(), resolved)) return {};
  auto of_mount = requests_of_mountstats(contents("/proc/self/mountstats"), resolved);
  return of_mount.empty() ? requests_of_client(contents("/proc/net/rpc/nfs")) : of_mount;
}

}  // namespace fsr
