// SPDX-License-Identifier: Apache-2.0
// Finds reasons against overwriting a device, in the kernel's tables (proc(5), sysfs) and by signatures, as wipefs(8) does.
#include <blkid/blkid.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <vector>

#include "targets/raw/device.hpp"
#include "util/units.hpp"

namespace fsr::raw {

namespace {

using Signs = std::vector<std::string>;

std::vector<std::string> entries(const std::string& directory) {
  std::vector<std::string> names;
  DIR* dir = opendir(directory.c_str());
  if (!dir) return names;
  while (const dirent* entry = readdir(dir))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  closedir(dir);
  std::sort(names.begin(), names.end());
  return names;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string resolved(const std::string& path) {
  char buffer[PATH_MAX];
  return realpath(path.c_str(), buffer) ? buffer : path;
}

void mounts(dev_t device, Signs& signs) {
  std::ifstream table("/proc/self/mountinfo");
  const std::string number = std::to_string(major(device)) + ":" + std::to_string(minor(device));
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string id, parent, numbers, root, where;
    if (fields >> id >> parent >> numbers >> root >> where && numbers == number) {
      signs.push_back("is mounted on " + escape_text(where));
      return;
    }
  }
}

void swap_space(const std::string& path, Signs& signs) {
  std::ifstream table("/proc/swaps");
  std::string line;
  std::getline(table, line);  // heading
  while (std::getline(table, line))
    if (std::string area = line.substr(0, line.find_first_of(" \t")); resolved(area) == path) signs.push_back("is swap space");
}

std::string directory_in_sysfs(dev_t device) {
  return "/sys/dev/block/" + std::to_string(major(device)) + ":" + std::to_string(minor(device)) + "/";
}

// Finds the partitions of a device. For a partition it finds none, because its directory in sysfs has no partitions in it.
void partitions(dev_t device, Signs& signs) {
  const std::string top = directory_in_sysfs(device);
  std::vector<std::string> parts;
  for (const std::string& name : entries(top))
    if (access((top + name + "/partition").c_str(), F_OK) == 0) parts.push_back(name);
  if (!parts.empty()) signs.push_back("has the partitions " + join(parts));
}

void holders(dev_t device, Signs& signs) {
  if (std::vector<std::string> users = entries(directory_in_sysfs(device) + "holders"); !users.empty())
    signs.push_back("is used by " + join(users));
}

void loop_devices(const std::string& path, Signs& signs) {
  for (const std::string& name : entries("/sys/block")) {
    std::ifstream file("/sys/block/" + name + "/loop/backing_file");
    if (std::string backing; std::getline(file, backing) && backing == path)
      signs.push_back("is the backing file of /dev/" + name);
  }
}

std::string value(blkid_probe probe, const char* name) {
  const char* text = nullptr;
  return blkid_probe_lookup_value(probe, name, &text, nullptr) == 0 && text ? escape_text(text) : std::string();
}

void signatures(const std::string& path, Signs& signs) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::unique_ptr<blkid_struct_probe, void (*)(blkid_probe)> probe(blkid_new_probe(), blkid_free_probe);
  if (!fd || !probe || blkid_probe_set_device(probe.get(), fd.get(), 0, 0) != 0) return;
  blkid_probe_enable_superblocks(probe.get(), 1);
  blkid_probe_set_superblocks_flags(probe.get(), BLKID_SUBLKS_TYPE | BLKID_SUBLKS_LABEL);
  blkid_probe_enable_partitions(probe.get(), 1);
  blkid_probe_set_partitions_flags(probe.get(), BLKID_PARTS_FORCE_GPT);  // also if only the table at the end is left
  Signs found;
  while (blkid_do_probe(probe.get()) == 0) {
    std::string type = value(probe.get(), "TYPE"), table = value(probe.get(), "PTTYPE"), label = value(probe.get(), "LABEL");
    std::string what = !type.empty() ? type : table.empty() ? "" : "a partition table (" + table + ")";
    if (!label.empty()) what += " (label " + label + ")";
    if (!what.empty() && std::find(found.begin(), found.end(), what) == found.end()) found.push_back(what);
  }
  if (!found.empty()) signs.push_back("holds " + join(found));
}

}  // namespace

SignsOfUse signs_of_use(const std::string& path) {
  struct stat st;
  if (stat(path.c_str(), &st) != 0) return {};
  Signs users, content;
  const std::string real = resolved(path);
  if (S_ISBLK(st.st_mode)) {
    mounts(st.st_rdev, users);
    holders(st.st_rdev, users);
    partitions(st.st_rdev, content);
  } else {
    loop_devices(real, users);
  }
  swap_space(real, users);
  signatures(path, content);
  return {join(users), join(content)};
}

}  // namespace fsr::raw
