// SPDX-License-Identifier: Apache-2.0
#include "compared_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "personality.hpp"
#include "report_rows.hpp"
#include "trace/reader.hpp"

extern char** environ;

namespace fsr::fsbench {

namespace {

using nlohmann::json;

const std::string& own_path() {
  static const std::string path = std::filesystem::read_symlink("/proc/self/exe");
  return path;
}

// Returns the fsreplay in the directory of this program. If it does not exist there, PATH is searched.
std::string path_of_fsreplay() {
  const auto beside = std::filesystem::path(own_path()).parent_path() / "fsreplay";
  return std::filesystem::exists(beside) ? beside.string() : "fsreplay";
}

bool is_trace(const std::string& name) {
  std::ifstream in(name, std::ios::binary);
  std::string first(64, '\0');
  in.read(first.data(), std::streamsize(first.size()));
  first.resize(size_t(in.gcount()));
  return looks_like_trace(first);
}

constexpr Compared kFsreplay = {
    .check =
        [](const Words& arguments) {
          if (arguments.empty() || arguments[0].starts_with("-"))
            throw std::runtime_error("expected a trace or a mix directly after fsreplay");
        },
    .on = [](const std::string& target, unsigned, const Words& arguments) -> Words {
      // A mix keeps its directories, and uses them again in the next round.
      if (is_trace(arguments[0])) return {target, "-q", "--cleanup"};
      return {target, "-q"};
    },
};

// Returns how the program `name` is compared. Null: not at all.
const Compared* compared_as(std::string_view name) {
  if (name == "fsreplay") return &kFsreplay;
  for (const Personality* p : personalities())
    if (p->name == name) return p->compared;
  return nullptr;
}

// A process whose standard output and standard error are read during its execution.
class Child {
 public:
  explicit Child(const std::vector<std::string>& command) {
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)
      throw std::runtime_error(std::string("pipe: ") + strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, err[1], 2);
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    // A process group of its own: what a terminal or timeout(1) sends to ours comes once, from read_all(). A second signal would
    // end the program before it has removed its files.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const int failed = posix_spawnp(&pid_, arguments[0], &actions, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    close(err[1]);
    fds_[0] = out[0];
    fds_[1] = err[0];
    if (!failed) return;
    close_all();
    throw std::runtime_error(fmt::format("can't run {}: {}", command[0], strerror(failed)));
  }
  ~Child() { close_all(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Reads until both outputs have ended. Sends SIGTERM to the process each time `stop` is raised.
  void read_all(const std::atomic<int>& stop) {
    int passed = 0;
    pollfd waits[2] = {{.fd = fds_[0], .events = POLLIN, .revents = 0}, {.fd = fds_[1], .events = POLLIN, .revents = 0}};
    while (waits[0].fd >= 0 || waits[1].fd >= 0) {
      if (stop.load() > passed) {
        passed = stop.load();
        kill(pid_, SIGTERM);
      }
      if (poll(waits, 2, 100) <= 0) continue;
      for (int i = 0; i < 2; ++i) {
        if (waits[i].fd < 0 || waits[i].revents == 0) continue;
        char part[65536];
        const ssize_t n = read(waits[i].fd, part, sizeof part);
        if (n > 0)
          text_[i].append(part, size_t(n));
        else if (n == 0 || errno != EINTR)
          waits[i].fd = -1;
      }
    }
  }
  int wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) == -1 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  const std::string& output() const { return text_[0]; }
  std::string last_complaint() const {
    std::string text = text_[1];
    text.erase(text.find_last_not_of('\n') + 1);
    return text.substr(text.find_last_of('\n') + 1);
  }

 private:
  void close_all() {
    for (int& fd : fds_)
      if (fd >= 0) close(std::exchange(fd, -1));
  }

  pid_t pid_ = 0;
  int fds_[2] = {-1, -1};
  std::string text_[2];
};

}  // namespace

Words compared_programs() {
  Words names;
  for (const Personality* p : personalities())
    if (p->compared) names.emplace_back(p->name);
  names.emplace_back("fsreplay");
  return names;
}

ComparedProgram::ComparedProgram(std::string name, Words arguments, const Words& targets)
    : name_(std::move(name)), compared_(*compared_as(name_)), arguments_(std::move(arguments)) {
  if (compared_.check) compared_.check(arguments_);
  if (compared_.replaced) added_ = compared_.replaced(arguments_);
  if (!compared_.required) return;
  const Words required = compared_.required(arguments_, targets);
  if (required.empty()) return;
  arguments_.insert(arguments_.end(), required.begin(), required.end());
  added_ += fmt::format("{}{}, {}", added_.empty() ? "" : "; ", fmt::join(required, " "), compared_.why_required);
}

Words ComparedProgram::command(const std::string& target, unsigned seed) const {
  Words words;
  if (&compared_ == &kFsreplay)
    words = {path_of_fsreplay()};
  else
    words = {own_path(), name_};
  words.insert(words.end(), arguments_.begin(), arguments_.end());
  words.push_back("--json");
  const Words on = compared_.on(target, seed, arguments_);
  words.insert(words.end(), on.begin(), on.end());
  return words;
}

ProgramRun ComparedProgram::run(const std::string& target, unsigned seed, const std::atomic<int>& stop) const {
  Child child(command(target, seed));
  child.read_all(stop);
  ProgramRun run{.rows = {}, .status = child.wait(), .complaint = child.last_complaint()};
  const json document = json::parse(child.output(), nullptr, false);
  try {
    if (!document.is_discarded()) run.rows = rows_of(document);
  } catch (const json::exception& e) {
    throw std::runtime_error(fmt::format("{} on {}: unreadable report: {}", name_, target, e.what()));
  }
  std::erase_if(run.rows, [](const RunRow& row) { return !(row.rate > 0); });
  if (run.rows.empty() && stop.load() == 0)
    throw std::runtime_error(fmt::format("{} on {} measured nothing: {}", name_, target,
                                         run.complaint.empty() ? fmt::format("status {}", run.status) : run.complaint));
  return run;
}

}  // namespace fsr::fsbench
