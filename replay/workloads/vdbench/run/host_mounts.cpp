// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/run/host_mounts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace fsr::vdbench {

namespace {

void execute(const Host& host, const std::string& command) {
  if (const int status = system(command.c_str()))
    throw std::runtime_error(fmt::format("hd={}: '{}' ended with status {}", host.name, command, WEXITSTATUS(status)));
}

// Returns the command with other options between its first word and its last two. Unmounts its directory if `point` is a mount.
std::string other_options(const Host& host, const std::string& command, const std::string& options) {
  std::istringstream in(command);
  const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
  if (words.size() < 3)
    throw std::runtime_error(
        fmt::format("hd={}: '{}': expected \"mount [OPTIONS] DEVICE DIRECTORY\" for mount= of an RD", host.name, command));
  if (system(fmt::format("mountpoint -q {}", words.back()).c_str()) == 0) execute(host, "umount " + words.back());
  if (options == "reset") return command;
  return fmt::format("{} {} {} {}", words[0], options, words[words.size() - 2], words.back());
}

}  // namespace

void mount_on_host(const std::vector<Host>& hosts, std::optional<size_t> own, const std::string& options) {
  for (size_t h = 0; h < hosts.size(); ++h) {
    if (own && h != *own) continue;
    for (const std::string& command : hosts[h].mounts) {
      // The last word is the mount point, if it is no option and nothing is for the shell.
      const std::string point = command.substr(command.rfind(' ') + 1);
      std::error_code error;
      if (command.starts_with("mount ") && !point.starts_with('-') && command.find_first_of("<>|;&$'\"") == command.npos)
        std::filesystem::create_directories(point, error);
      execute(hosts[h], options.empty() ? command : other_options(hosts[h], command, options));
    }
  }
}

}  // namespace fsr::vdbench
