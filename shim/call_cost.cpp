// SPDX-License-Identifier: Apache-2.0
#include "call_cost.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "awake.hpp"
#include "capture_error.hpp"
#include "trace/reader.hpp"
#include "util/histogram.hpp"
#include "util/unique_fd.hpp"

namespace fsr::shim {

namespace {

constexpr auto kDuration = std::chrono::milliseconds(150);

int64_t median_of_stat(const std::string& directory) {
  using Clock = std::chrono::steady_clock;
  Histogram times;
  struct stat found;
  const auto end = Clock::now() + kDuration;
  for (auto before = Clock::now(); before < end;) {
    if (stat(directory.c_str(), &found) != 0) throw failed(directory, errno);
    const auto after = Clock::now();
    times.add(std::chrono::nanoseconds(after - before).count());
    before = after;
  }
  return times.quantile(0.5);
}

std::string text_of(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// A directory for the files of one capture.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "fsshim-check-XXXXXX").string();
    if (!mkdtemp(name.data())) throw failed(name, errno);
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::filesystem::path file(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// Runs the command, and returns its exit status as wait(2) gives it.
int run(const std::vector<std::string>& command, const std::string& output, const std::string& errors) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&files, 2, errors.c_str(), O_WRONLY | O_CREAT, 0600);
  pid_t child;
  const int error = posix_spawn(&child, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw failed(command[0], error);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

CallCost time_calls(const std::string& directory) {
  CallCost cost;
  cost.asleep = median_of_stat(directory);
  LatencyRequest request;
  if (request.possible() && request.set(true)) cost.awake = median_of_stat(directory);
  return cost;
}

CapturedCost time_captured_calls(const std::string& directory, const std::string& transport) {
  const Scratch scratch;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe"), trace = scratch.file("check.zst");
  const std::string output = scratch.file("output"), errors = scratch.file("errors");
  const int status = run({self, "capture", directory, "-o", trace, "--transport", transport, "--force", "--", self, "check",
                          directory, "--calls-only"},
                         output, errors);
  CapturedCost found;
  std::istringstream numbers(text_of(output));
  if (status != 0 || !(numbers >> found.cost.asleep >> found.cost.awake)) {
    std::string why = text_of(errors);
    why.resize(std::min(why.find_last_not_of('\n') + 1, why.size()));
    why.erase(0, why.rfind('\n') + 1);
    throw CaptureError(why.starts_with("fsshim: ") ? why.substr(8) : directory + ": a trial capture ended unexpectedly: " + why);
  }
  found.transport = TraceReader(trace).header().transport;
  return found;
}

}  // namespace fsr::shim
