// SPDX-License-Identifier: Apache-2.0
#include "environment.hpp"

#include <fcntl.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>

#include "util/mountinfo.hpp"

namespace fsr {

namespace {

// x86 and others tell the model by different names, and some not at all.
std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    for (std::string_view key : {"model name", "cpu model", "Processor", "cpu\t"})
      if (const size_t colon = line.find(": "); line.starts_with(key) && colon != line.npos) return line.substr(colon + 2);
  return "";
}

bool plain(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  return !word.empty() && word.find_first_not_of(kPlain) == word.npos;
}

}  // namespace

Environment environment() {
  Environment e;
  utsname machine;
  if (uname(&machine) == 0) e.host = machine.nodename, e.kernel = machine.release;
  e.cpu = cpu_model();
  e.cpus = std::thread::hardware_concurrency();
  struct sysinfo memory {};
  if (sysinfo(&memory) == 0) e.memory = uint64_t(memory.totalram) * memory.mem_unit;
  std::error_code error;
  e.directory = std::filesystem::current_path(error).string();
  return e;
}

std::string mount_text(const std::string& directory) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::absolute(directory, error);
  while (path.has_relative_path() && !std::filesystem::exists(path, error)) path = path.parent_path();
  const int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return "";
  const auto mount = mount_of(fd);
  close(fd);
  return mount ? mount->source + " " + mount->type + " " + mount->options : "";
}

std::vector<std::string> own_command() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
  return words;
}

std::string command_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    if (plain(word)) {
      text += word;
      continue;
    }
    text += '\'';
    for (char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

}  // namespace fsr
