// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/run/host_mounts.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <span>

#include "workloads/vdbench/language/hosts.hpp"

namespace fsr::vdbench {

namespace {

void execute(const Host& host, const std::string& command) {
  if (const int status = system(command.c_str()))
    throw_error("hd={}: '{}' ended with status {}", host.name, command, WEXITSTATUS(status));
}

// Unmounts the directory of a command that Hosts::check_remount() passed, if it is a mount.
void unmount(const Host& host, const std::string& command) {
  const std::string point = words_of(command).back();
  if (system(fmt::format("mountpoint -q {}", point).c_str()) == 0) execute(host, "umount " + point);
}

// Returns the command with other options between its first word and its last two.
std::string other_options(const std::string& command, const std::string& options) {
  if (options == "reset") return command;
  const std::vector<std::string> words = words_of(command);
  return fmt::format("{} {} {} {}", words[0], options, words[words.size() - 2], words.back());
}

}  // namespace

void mount_on_host(const std::vector<Host>& hosts, std::optional<size_t> own, const std::string& options) {
  const std::span<const Host> mine = own ? std::span(hosts).subspan(*own, 1) : std::span(hosts);
  if (!options.empty())
    for (auto host = mine.rbegin(); host != mine.rend(); ++host)  // a mount may be inside one before it
      for (auto command = host->mounts.rbegin(); command != host->mounts.rend(); ++command) unmount(*host, *command);
  for (const Host& host : mine) {
    for (const std::string& command : host.mounts) {
      // The last word is the mount point, if it is no option and nothing is for the shell.
      const std::string point = command.substr(command.rfind(' ') + 1);
      std::error_code error;
      if (command.starts_with("mount ") && !point.starts_with('-') && command.find_first_of(kShellCharacters) == command.npos)
        std::filesystem::create_directories(point, error);
      execute(host, options.empty() ? command : other_options(command, options));
    }
  }
}

}  // namespace fsr::vdbench
