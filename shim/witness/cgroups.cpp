// SPDX-License-Identifier: Apache-2.0
#include "cgroups.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "../capture_error.hpp"
#include "util/mountinfo.hpp"

namespace fsr::shim {

namespace {

constexpr size_t kShortId = 12;  // digits of a container's id that its tools print

// Where version 2 is mounted. Throws CaptureError.
std::string top_of(const std::string& option) {
  for (const MountEntry& m : own_mounts())
    if (m.type == "cgroup2") return m.point;
  throw CaptureError(option + ": no control groups of version 2 are mounted (mount -t cgroup2)");
}

UniqueFd opened(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct statfs fs;
  if (fd && fstatfs(fd.get(), &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC) return fd;
  return UniqueFd();
}

// Each group but the machine's root has this file (cgroup-v2.rst of Linux, "Core Interface Files").
bool is_root(const UniqueFd& group) { return faccessat(group.get(), "cgroup.type", F_OK, 0) != 0; }

// systemd writes "-" in an id as "_", because "-" separates groups in a name.
std::string dashed(std::string text) {
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

bool is_hexadecimal(std::string_view text) { return text.find_first_not_of("0123456789abcdef") == text.npos; }

bool is_of(const std::string& directory, const std::string& name) {
  if (directory == name) return true;
  std::string text = dashed(directory);
  for (const std::string_view suffix : {".slice", ".scope", ".service"})
    if (text.ends_with(suffix)) text.resize(text.size() - suffix.size());
  if (text.find("-conmon-") != text.npos) return false;  // podman's and CRI-O's process beside a container
  const std::string wanted = dashed(name);
  if (text.ends_with(wanted)) {
    const std::string_view before(text.data(), text.size() - wanted.size());
    if (before.empty() || before.ends_with('-') || before.ends_with("pod") || before.ends_with(':')) return true;
  }
  if (wanted.size() < kShortId || !is_hexadecimal(wanted)) return false;
  const std::string_view id = std::string_view(text).substr(text.find_last_of("-:") + 1);
  return id.starts_with(wanted) && is_hexadecimal(id);
}

void look_below(const std::filesystem::path& directory, const std::string& name, std::vector<std::string>& found) {
  std::error_code error;  // groups end meanwhile
  for (auto at = std::filesystem::directory_iterator(directory, error); !error && at != std::filesystem::directory_iterator();
       at.increment(error)) {
    std::error_code gone;
    if (!at->is_directory(gone)) continue;
    if (is_of(at->path().filename(), name))
      found.push_back(at->path());
    else
      look_below(at->path(), name, found);
  }
}

}  // namespace

ChosenCgroup cgroup_at(const std::string& path) {
  if (path.empty())
    throw CaptureError("--cgroup: expected a control group, got nothing; to capture all processes, give --everywhere");
  std::string found = path;
  UniqueFd fd = opened(found);
  if (!fd) {
    found = top_of("--cgroup") + (path.starts_with('/') ? "" : "/") + path;
    fd = opened(found);
  }
  if (!fd) throw CaptureError("--cgroup: " + path + ": no control group of version 2");
  if (is_root(fd))
    throw CaptureError("--cgroup: " + path + ": the root group, which has all processes; to capture them, give --everywhere");
  return {found, std::move(fd)};
}

bool ChosenCgroup::ended() const {
  struct stat there, chosen;
  return stat(path.c_str(), &there) != 0 || fstat(fd.get(), &chosen) != 0 || there.st_dev != chosen.st_dev ||
         there.st_ino != chosen.st_ino;
}

std::vector<std::string> pods_named(const std::string& name, const std::string& top) {
  std::vector<std::string> found;
  look_below(top, name, found);
  std::sort(found.begin(), found.end());
  return found;
}

ChosenCgroup cgroup_of_pod(const std::string& name) {
  if (name.empty()) throw CaptureError("--pod: expected the id of a pod or container, got nothing");
  const std::string top = top_of("--pod");
  const std::vector<std::string> found = pods_named(name, top);
  if (found.empty()) throw CaptureError("--pod: " + name + ": no control group below " + top + " is of such a pod or container");
  if (found.size() > 1)
    throw CaptureError("--pod: " + name + ": could be " + found[0] + " or " + found[1] + "; give one with --cgroup");
  UniqueFd fd = opened(found[0]);
  if (!fd) throw CaptureError("--pod: " + name + ": " + found[0] + " has ended meanwhile");
  return {found[0], std::move(fd)};
}

}  // namespace fsr::shim
