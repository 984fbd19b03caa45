// SPDX-License-Identifier: Apache-2.0
#include "nhfsstone_places.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <utility>

namespace fsr::fsbench {

namespace {

bool is_directory(const std::string& path) {
  struct stat st;
  return stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

// Returns the directory to which a test directory links. Empty: it is no symbolic link.
std::filesystem::path linked(const std::string& directory, const std::string& name) {
  const std::filesystem::path link = std::filesystem::path(directory) / name;
  std::error_code error;
  if (!std::filesystem::is_symlink(link, error)) return {};
  const std::filesystem::path real = std::filesystem::canonical(link, error);
  if (error) throw std::runtime_error(fmt::format("{}: a symbolic link that leads nowhere: {}", link.string(), error.message()));
  if (!is_directory(real) || !real.has_filename())
    throw std::runtime_error(
        fmt::format("{}: expected a link to a test directory, found one to {}", link.string(), real.string()));
  return real;
}

}  // namespace

std::string path_of(const std::string& location) { return location.starts_with("file:") ? location.substr(5) : location; }

uint64_t device_of(const std::string& location) {
  struct stat st;
  return stat(path_of(location).c_str(), &st) == 0 ? st.st_dev : 0;
}

std::vector<StonePlace> stone_places(const std::vector<std::string>& targets, unsigned processes) {
  std::vector<StonePlace> places;
  std::map<std::pair<std::string, std::string>, unsigned> used;  // number of the first link to each directory
  for (unsigned n = 0; n < processes; ++n) {
    std::string target = targets[n % targets.size()], name = fmt::format("testdir{}", n);
    if (is_directory(path_of(target)))
      if (const std::filesystem::path real = linked(path_of(target), name); !real.empty()) {
        target = real.parent_path();
        name = real.filename();
        const auto [other, fresh] = used.emplace(std::pair(target, name), n);
        if (!fresh)
          throw std::runtime_error(fmt::format("testdir{} and testdir{}: expected a directory each, both lead to {}",
                                               other->second, n, real.string()));
      }
    auto place = std::find_if(places.begin(), places.end(), [&](const StonePlace& p) { return p.target == target; });
    if (place == places.end()) place = places.insert(places.end(), {target, {}, {}});
    place->numbers.push_back(n);
    place->names.push_back(name);
  }
  return places;
}

}  // namespace fsr::fsbench
