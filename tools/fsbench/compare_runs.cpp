// SPDX-License-Identifier: Apache-2.0
#include "compare_runs.hpp"

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
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

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

bool has(const std::vector<std::string>& arguments, const std::string& option) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& a) { return a.starts_with(option); });
}

constexpr std::string_view kPostmarkFlags[] = {"--detail", "--json"};
constexpr std::string_view kNhfsstoneFlags[] = {"-v", "--json"};

// Returns the first argument that is neither an option nor the value of one. Empty: there is none. `flags`: options without a
// value.
std::string first_word(const std::vector<std::string>& arguments, std::span<const std::string_view> flags) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    if (!a.starts_with("-")) return a;
    const bool has_value = a.starts_with("--") ? a.find('=') != std::string::npos : a.size() > 2;
    if (!has_value && std::find(flags.begin(), flags.end(), a) == flags.end()) ++i;
  }
  return "";
}

bool is_trace(const std::string& name) {
  std::ifstream in(name, std::ios::binary);
  std::string first(64, '\0');
  in.read(first.data(), std::streamsize(first.size()));
  first.resize(size_t(in.gcount()));
  return looks_like_trace(first);
}

constexpr size_t kLongestText = 64 << 10;  // bytes; larger files are data and not shown

// Returns the content of a text file. Empty: it is none.
std::string text_of(const std::string& name) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(name, error)) return "";
  std::ifstream in(name, std::ios::binary);
  std::string text(kLongestText + 1, '\0');
  in.read(text.data(), std::streamsize(text.size()));
  text.resize(size_t(in.gcount()));
  return text.size() > kLongestText || text.find('\0') != text.npos ? "" : text;
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
    const int failed = posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
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

bool ComparedProgram::is_known(const std::string& name) {
  return name == "bonnie" || name == "lantest" || name == "postmark" || name == "nhfsstone" || name == "vdbench" ||
         name == "fsreplay";
}

ComparedProgram::ComparedProgram(std::string name, std::vector<std::string> arguments, const std::vector<std::string>& targets)
    : name_(std::move(name)), arguments_(std::move(arguments)) {
  if (name_ == "fsreplay" && (arguments_.empty() || arguments_[0].starts_with("-")))
    throw std::runtime_error("expected a trace or a mix directly after fsreplay");
  if (name_ == "postmark" && first_word(arguments_, kPostmarkFlags).empty())
    throw std::runtime_error("postmark: expected CONFIG, a file of commands");
  if (name_ == "nhfsstone")
    if (const std::string named = first_word(arguments_, kNhfsstoneFlags); !named.empty())
      throw std::runtime_error(named + ": expected targets before \"--\" only; nhfsstone would share the load between several");
  if (name_ == "bonnie" && has(arguments_, "-d"))
    throw std::runtime_error("bonnie -d: expected targets before \"--\" only; -d would put all runs on one target");
  if (name_ == "vdbench") {
    std::string texts = fmt::format("{}", fmt::join(arguments_, " "));
    for (const NamedText& file : files()) texts += "\n" + file.text;
    if (texts.find("$target") == texts.npos && texts.find("include=") == texts.npos)
      throw std::runtime_error("vdbench: expected $target in the parameter file, as in anchor=$target or lun=$target/NAME");
  }
  auto speaks_afp = [](const std::string& target) { return target.starts_with("afp://"); };
  if (name_ == "lantest" && !has(arguments_, "--operations") && std::any_of(targets.begin(), targets.end(), speaks_afp) &&
      !std::all_of(targets.begin(), targets.end(), speaks_afp)) {
    arguments_.push_back("--operations");
    added_ = "--operations, because not all targets speak AFP";
  }
}

std::vector<NamedText> ComparedProgram::files() const {
  std::vector<NamedText> files;
  for (const std::string& a : arguments_) {
    // Arguments of the form CONFIG, --mix=CONFIG and -fCONFIG.
    std::string name = a;
    if (a.starts_with("--"))
      name = a.substr(std::min(a.find('='), a.size() - 1) + 1);
    else if (a.starts_with("-"))
      name = a.substr(std::min<size_t>(2, a.size()));
    if (const std::string text = text_of(name); !text.empty()) files.push_back({name, text});
  }
  return files;
}

std::vector<std::string> ComparedProgram::command(const std::string& target, unsigned seed) const {
  std::vector<std::string> words;
  if (name_ == "fsreplay")
    words = {path_of_fsreplay()};
  else
    words = {own_path(), name_};
  words.insert(words.end(), arguments_.begin(), arguments_.end());
  words.push_back("--json");
  if (name_ == "bonnie") {
    words.insert(words.end(), {"-q", "-d", target});
    if (!has(arguments_, "-z") && !has(arguments_, "-Z")) words.insert(words.end(), {"-z", std::to_string(seed)});
  } else if (name_ == "postmark") {
    words.insert(words.end(), {"--location", target});
  } else if (name_ == "vdbench") {
    words.push_back("target=" + target);  // replaces $target in anchor=$target or lun=$target/big
  } else {
    words.push_back(target);
    if (name_ != "fsreplay") return words;
    words.push_back("-q");
    // A mix keeps its directories, and uses them again in the next round.
    if (!arguments_.empty() && is_trace(arguments_[0])) words.push_back("--cleanup");
  }
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
