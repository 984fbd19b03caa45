// SPDX-License-Identifier: Apache-2.0
#include "workloads/lantest/server_calls.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace fsr::lantest {

namespace {

constexpr unsigned kAttempts = 3;  // attempts, one per second

// Returns the number behind "NAME:", and the number after it.
std::array<uint64_t, 2> numbers_behind(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name + ":")) continue;
    std::istringstream words(line.substr(name.size() + 1));
    std::array<uint64_t, 2> numbers{};
    words >> numbers[0] >> numbers[1];
    return numbers;
  }
  return {UINT64_MAX, UINT64_MAX};
}

uint64_t count_of(const std::string& text, const std::string& name) {
  const uint64_t count = numbers_behind(text, name)[0];
  return count == UINT64_MAX ? 0 : count;
}

}  // namespace

std::string ServerCalls::text(int pid, const char* file) const {
  std::ifstream in(fmt::format("{}/{}/{}", proc_, pid, file), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool ServerCalls::look(const std::vector<int>& others) {
  const passwd* entry = getpwnam(user_.c_str());
  if (!entry) {
    problem_ = fmt::format("no user '{}' on this machine, so the server's processes can't be found", user_);
    return false;
  }
  const uint64_t uid = entry->pw_uid;
  std::error_code error;
  for (const auto& found : std::filesystem::directory_iterator(proc_, error)) {
    const std::string name = found.path().filename();
    int pid = 0;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (wrong != std::errc() || end != name.data() + name.size()) continue;
    const std::string program = text(pid, "comm");
    if (program == "cnid_dbd\n" && text(pid, "cmdline").find(std::string("\0-u\0", 4) + user_ + '\0') != std::string::npos)
      ids_ = pid;
    if (program != "afpd\n" || std::find(others.begin(), others.end(), pid) != others.end()) continue;
    const std::array<uint64_t, 2> uids = numbers_behind(text(pid, "status"), "Uid");
    if (uids[0] == uid || uids[1] == uid) server_ = std::max(server_, pid);  // the last one, if there are several
  }
  if (!server_) problem_ = fmt::format("no process afpd of user '{}' in {}", user_, proc_);
  return server_ != 0;
}

bool ServerCalls::find(const std::vector<int>& others) {
  for (unsigned i = 0; i < kAttempts; ++i) {
    if (look(others)) return true;
    sleep(1);
  }
  return false;
}

ServerCalls::Counts ServerCalls::now() const {
  Counts counts{};
  if (server_) {
    const std::string io = text(server_, "io");
    counts[0] = count_of(io, "syscr");
    counts[1] = count_of(io, "syscw");
  }
  if (ids_) {
    const std::string io = text(ids_, "io");
    counts[2] = count_of(io, "syscr");
    counts[3] = count_of(io, "syscw");
  }
  return counts;
}

int64_t ServerCalls::cpu_of(int pid) const {
  int64_t sum = 0;
  if (!pid) return sum;
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator(fmt::format("{}/{}/task", proc_, pid), error)) {
    int64_t on_cpu = 0;
    std::ifstream(thread.path() / "schedstat") >> on_cpu;
    sum += on_cpu;
  }
  return sum;
}

ServerCalls::Cpu ServerCalls::cpu() const { return {cpu_of(server_), cpu_of(ids_)}; }

}  // namespace fsr::lantest
