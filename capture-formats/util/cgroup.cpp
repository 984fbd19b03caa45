// SPDX-License-Identifier: Apache-2.0
#include "util/cgroup.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace fsr {

namespace {

bool lists(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    if (text.substr(0, end) == word) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

// A hierarchy of groups as it is mounted here.
struct Hierarchy {
  std::string root;   // the group that the mount shows
  std::string point;  // without a slash at the end
};

std::vector<Hierarchy> hierarchies(const std::string& proc, bool old, std::string_view controller) {
  std::vector<Hierarchy> found;
  std::ifstream file(proc + "/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string id, parent, device, root, point, word, type, source, options;
    fields >> id >> parent >> device >> root >> point;
    while (fields >> word && word != "-") continue;
    fields >> type >> source >> options;
    if (old ? type == "cgroup" && lists(options, controller) : type == "cgroup2") found.push_back({root, point});
  }
  return found;
}

// The group of this process in the hierarchy of that controller, or of version 2. Empty: there is none.
std::string own_group(const std::string& proc, bool old, std::string_view controller) {
  std::ifstream file(proc + "/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (old ? lists(controllers, controller) : controllers.empty()) return line.substr(second + 1);
  }
  return {};
}

void take_least(std::optional<uint64_t>& least, const std::string& path) {
  std::ifstream file(path);
  uint64_t value;
  if (file >> value) least = std::min(least.value_or(value), value);  // not so "max"
}

// Calls visit(old, directory) for this process's group and the groups above it, of both versions.
template <class Visit>
void each_group(const std::string& proc, std::string_view controller, Visit visit) {
  for (const bool old : {false, true}) {
    const std::string group = own_group(proc, old, controller);
    if (group.empty()) continue;
    for (const Hierarchy& tree : hierarchies(proc, old, controller)) {
      // A container may see its own group as the mount's root, whatever the name of the group.
      const bool inside = tree.root == "/" || group == tree.root || group.starts_with(tree.root + "/");
      std::string below = !inside ? "" : tree.root == "/" ? group : group.substr(tree.root.size());
      while (below.ends_with('/')) below.pop_back();
      for (;; below.resize(below.rfind('/'))) {
        visit(old, tree.point + below);
        if (below.rfind('/') == std::string::npos) break;
      }
    }
  }
}

}  // namespace

std::optional<uint64_t> cgroup_limit(const char* controller, const char* old_name, const char* name) {
  std::optional<uint64_t> least;
  each_group("/proc/self", controller,
             [&](bool old, const std::string& group) { take_least(least, group + "/" + (old ? old_name : name)); });
  return least;
}

std::optional<unsigned> cgroup_processors(const std::string& proc) {
  std::optional<unsigned> least;
  each_group(proc, "cpu", [&](bool old, const std::string& group) {
    std::ifstream quota(group + (old ? "/cpu.cfs_quota_us" : "/cpu.max")), other(group + "/cpu.cfs_period_us");
    double time, period;  // us; without a quota, the time is "max" or -1
    if (!(quota >> time) || !((old ? other : quota) >> period) || time <= 0 || period <= 0) return;
    const unsigned processors = unsigned(std::min(std::ceil(time / period), 1e6));
    least = std::min(least.value_or(processors), processors);
  });
  return least;
}

}  // namespace fsr
