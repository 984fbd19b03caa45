// SPDX-License-Identifier: Apache-2.0
#include "not_seen.hpp"

#include <dirent.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>

namespace fsr {

namespace {

struct DirCloser {
  void operator()(DIR* d) const { closedir(d); }
};

bool below(const std::string& path, const std::string& directory) {
  if (directory == "/") return path.starts_with('/');
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

bool link_below(const std::string& link, const std::string& directory) {
  char target[PATH_MAX];
  ssize_t n = readlink(link.c_str(), target, sizeof target);
  return n > 0 && below({target, size_t(n)}, directory);
}

bool holds(const std::string& process, const std::string& directory) {
  if (link_below(process + "/cwd", directory) || link_below(process + "/exe", directory)) return true;
  if (directory != "/" && link_below(process + "/root", directory)) return true;
  if (std::unique_ptr<DIR, DirCloser> fds{opendir((process + "/fd").c_str())})
    while (dirent* e = readdir(fds.get()))
      if (e->d_name[0] != '.' && link_below(process + "/fd/" + e->d_name, directory)) return true;
  std::ifstream maps(process + "/maps");
  for (std::string line; std::getline(maps, line);)
    if (size_t at = line.find('/'); at != std::string::npos && below(line.substr(at), directory)) return true;
  return false;
}

}  // namespace

std::vector<std::string> processes_below(const std::string& directory) {
  std::vector<std::string> found;
  std::unique_ptr<DIR, DirCloser> proc{opendir("/proc")};
  if (!proc) return found;
  while (dirent* e = readdir(proc.get())) {
    int pid = atoi(e->d_name);
    if (pid <= 0 || pid == getpid()) continue;
    std::string process = std::string("/proc/") + e->d_name;
    if (!holds(process, directory)) continue;
    std::string command;
    std::ifstream comm(process + "/comm");
    std::getline(comm, command);
    found.push_back(std::string(e->d_name) + " " + command);
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return atoi(a.c_str()) < atoi(b.c_str()); });
  return found;
}

}  // namespace fsr
