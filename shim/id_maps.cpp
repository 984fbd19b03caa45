// SPDX-License-Identifier: Apache-2.0
#include "id_maps.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "capture_error.hpp"
#include "helper_process.hpp"

namespace fsr::shim {

namespace {

constexpr const char *kMapUsers = "newuidmap", *kMapGroups = "newgidmap";
constexpr int kUsersMapped = 1, kGroupsMapped = 2;  // bits of the reply from the process outside

bool installed(const std::string& program) {
  const char* path = getenv("PATH");
  std::istringstream folders(path ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

bool to_number(std::string_view text, uint32_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<IdRange> granted(const char* program, const char* path, uint32_t own) {
  if (!installed(program)) return {};
  const passwd* entry = getpwuid(getuid());
  const std::string name = entry ? entry->pw_name : "";
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return ranges_in(text, name, getuid(), own);
}

std::vector<std::string> command_line(const char* program, pid_t process, uint32_t own, const std::vector<IdRange>& ranges) {
  std::vector<std::string> words{program, std::to_string(process)};
  auto add = [&](uint32_t first, uint32_t count) {
    words.insert(words.end(), {std::to_string(first), std::to_string(first), std::to_string(count)});
  };
  add(own, 1);
  for (const IdRange& range : ranges) add(range.first, range.count);
  return words;
}

// Runs a program. True: it ended with status 0.
bool run_program(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const int null = open("/dev/null", O_RDWR);
    for (int fd : {0, 1, 2}) dup2(null, fd);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

void write_file(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) throw failed(path, errno);
  const ssize_t n = ::write(fd, text.data(), text.size());
  const int error = errno;
  close(fd);
  if (n != ssize_t(text.size())) throw failed(path, error);
}

std::string map_of_one(uint32_t id) { return std::to_string(id) + " " + std::to_string(id) + " 1"; }

}  // namespace

std::vector<IdRange> ranges_in(std::string_view text, std::string_view name, uint32_t user, uint32_t own) {
  std::vector<IdRange> ranges;
  std::istringstream lines{std::string(text)};
  auto add = [&](uint32_t first, uint32_t count) {
    if (count != 0 && ranges.size() < kMostRanges) ranges.push_back({first, count});
  };
  for (std::string line; std::getline(lines, line);) {
    const size_t a = line.find(':'), b = a == line.npos ? a : line.find(':', a + 1);
    if (b == line.npos) continue;
    const std::string owner = line.substr(0, a);
    uint32_t first, count;
    if ((owner != name || name.empty()) && owner != std::to_string(user)) continue;
    if (!to_number(std::string_view(line).substr(a + 1, b - a - 1), &first) ||
        !to_number(std::string_view(line).substr(b + 1), &count))
      continue;
    if (uint64_t(first) + count > UINT32_MAX) continue;
    const bool holds_own = own >= first && own - first < count;
    add(first, holds_own ? own - first : count);
    if (holds_own) add(own + 1, first + count - own - 1);
  }
  return ranges;
}

std::vector<IdRange> subordinate_uids() { return granted(kMapUsers, "/etc/subuid", getuid()); }
std::vector<IdRange> subordinate_gids() { return granted(kMapGroups, "/etc/subgid", getgid()); }

IdMaps::IdMaps() : uid_(getuid()), gid_(getgid()) {
  const std::vector<IdRange> users = subordinate_uids(), groups = subordinate_gids();
  int asked[2], answered[2];
  if ((users.empty() && groups.empty()) || pipe2(asked, O_CLOEXEC) != 0) return;
  if (pipe2(answered, O_CLOEXEC) != 0) {
    for (int fd : asked) close(fd);
    return;
  }
  const pid_t inside = getpid();
  outside_ = start_helper({asked[0], answered[1]}, [&] {
    char byte;
    if (read(asked[0], &byte, 1) != 1) return;
    byte = 0;
    if (!users.empty() && run_program(command_line(kMapUsers, inside, uid_, users))) byte |= kUsersMapped;
    if (!groups.empty() && run_program(command_line(kMapGroups, inside, gid_, groups))) byte |= kGroupsMapped;
    (void)!::write(answered[1], &byte, 1);
  });
  close(asked[0]);
  close(answered[1]);
  ask_ = asked[1];
  answer_ = answered[0];
}

IdMaps::~IdMaps() {
  for (int fd : {ask_, answer_})
    if (fd >= 0) close(fd);
  if (outside_ > 0) waitpid(outside_, nullptr, 0);
}

void IdMaps::write() {
  char mapped = 0;
  if (outside_ > 0 && ::write(ask_, &mapped, 1) == 1 && read(answer_, &mapped, 1) != 1) mapped = 0;
  if (!(mapped & kUsersMapped)) write_file("/proc/self/uid_map", map_of_one(uid_));
  if (mapped & kGroupsMapped) return;
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/gid_map", map_of_one(gid_));
}

}  // namespace fsr::shim
