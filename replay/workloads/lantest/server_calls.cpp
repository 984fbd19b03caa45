// SPDX-License-Identifier: Apache-2.0
#include "workloads/lantest/server_calls.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

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
  std::vector<int> servers, databases;
  std::error_code error;
  for (const auto& found : std::filesystem::directory_iterator(proc_, error)) {
    const std::string name = found.path().filename();
    int pid = 0;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (wrong != std::errc() || end != name.data() + name.size()) continue;
    const std::string program = text(pid, "comm");
    if (program == "cnid_dbd\n" && text(pid, "cmdline").find(std::string("\0-u\0", 4) + user_ + '\0') != std::string::npos)
      databases.push_back(pid);
    if (program != "afpd\n" || std::find(others.begin(), others.end(), pid) != others.end()) continue;
    const std::array<uint64_t, 2> uids = numbers_behind(text(pid, "status"), "Uid");
    if (uids[0] == uid || uids[1] == uid) servers.push_back(pid);
  }
  if (servers.empty()) {
    problem_ = fmt::format("no process afpd of user '{}' in {}", user_, proc_);
    return false;
  }
  named_ = ids_ = highest(std::move(databases), "cnid_dbd processes with -u " + user_);
  server_ = highest(std::move(servers), "afpd processes owned by " + user_);
  return true;
}

// Returns the highest process id, which is most likely the youngest process. 0: there is none.
int ServerCalls::highest(std::vector<int> pids, const std::string& which) {
  if (pids.empty()) return 0;
  std::sort(pids.begin(), pids.end());
  if (pids.size() > 1)
    warnings_ += fmt::format("Warning: Multiple {} found ({}), using highest: {}\n", which, fmt::join(pids, ", "), pids.back());
  return pids.back();
}

// Looks whether the counters can be read. This takes privileges for processes of other users.
bool ServerCalls::readable() {
  auto has_counters = [this](int pid) { return numbers_behind(text(pid, "io"), "syscr")[0] != UINT64_MAX; };
  if (!has_counters(server_)) {
    problem_ = fmt::format("can't read {}/{}/io of afpd", proc_, server_);
    return false;
  }
  if (ids_ && !has_counters(ids_)) {
    warnings_ += fmt::format("Warning: Cannot read {}/{}/io for cnid_dbd (optional)\n", proc_, ids_);
    ids_ = 0;
  }
  return true;
}

std::string ServerCalls::found() const {
  const std::string database = named_ ? fmt::format("Found cnid_dbd process for user '{}': PID {}\n", user_, named_)
                                      : "No matching processes found\ncnid_dbd not found (optional), continuing...\n";
  return database + fmt::format("Found privilege-dropped afpd process for user '{}': PID {}\n", user_, server_) +
         fmt::format("IO monitoring enabled (afpd: {}, cnid_dbd: {})\n", server_, ids_ ? std::to_string(ids_) : "not found");
}

bool ServerCalls::find(const std::vector<int>& others) {
  for (unsigned i = 0; i < kAttempts; ++i) {
    if (look(others)) return readable();
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
