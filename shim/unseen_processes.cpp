// SPDX-License-Identifier: Apache-2.0
#include "unseen_processes.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <memory>

#include "capture_error.hpp"
#include "helper_process.hpp"
#include "proc_read.hpp"

namespace fsr::shim {

namespace {

// Longest times for the examination of one process, and of all processes that delay it.
constexpr int kTimeoutMs = 1000, kTotalTimeoutMs = 5000;

// Reports of a child process about each process that it examines: begins, then one of the others.
enum class Look : char { begins, maps, holds, holds_nothing };
struct Report {
  pid_t pid;
  Look look;
};

struct DirCloser {
  void operator()(DIR* d) const { closedir(d); }
};

bool below(const std::string& path, const std::string& directory) {
  if (directory == "/") return path.starts_with('/');
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

bool link_below(const std::string& link, const std::string& directory) {
  char target[PATH_MAX];
  ssize_t n = readlink(link.c_str(), target, sizeof target);
  return n > 0 && below({target, size_t(n)}, directory);
}

// A line of maps: "7f00-7f10 rw-s 00000000 08:01 42   /path".
bool shared_and_writable(const std::string& line) {
  const size_t flags = line.find(' ') + 1;
  return flags != 0 && line.size() >= flags + 4 && line[flags + 1] == 'w' && line[flags + 3] == 's';
}

Look look_at(const std::string& process, const std::string& directory) {
  bool holds = false;
  std::ifstream maps(process + "/maps");
  for (std::string line; std::getline(maps, line);)
    if (size_t at = line.find('/'); at != std::string::npos && below(line.substr(at), directory)) {
      if (shared_and_writable(line)) return Look::maps;
      holds = true;
    }
  if (holds || link_below(process + "/cwd", directory) || link_below(process + "/exe", directory)) return Look::holds;
  if (directory != "/" && link_below(process + "/root", directory)) return Look::holds;
  if (std::unique_ptr<DIR, DirCloser> fds{opendir((process + "/fd").c_str())})
    while (dirent* e = readdir(fds.get()))
      if (e->d_name[0] != '.' && link_below(process + "/fd/" + e->d_name, directory)) return Look::holds;
  return Look::holds_nothing;
}

// A child process that looks at some processes and reports.
class Looker {
 public:
  Looker(const pid_t* first, const pid_t* end, const std::string& directory) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw failed("pipe", errno);
    child_ = start_helper({ends[1]}, [&] {
      auto report = [&](pid_t pid, Look look) {
        const Report text{pid, look};
        if (write(ends[1], &text, sizeof text) != ssize_t(sizeof text)) _exit(0);
      };
      for (const pid_t* pid = first; pid != end; ++pid) {
        report(*pid, Look::begins);
        report(*pid, look_at("/proc/" + std::to_string(*pid), directory));
      }
    });
    const int error = errno;
    close(ends[1]);
    reports_ = ends[0];
    if (child_ < 0) {
      close(reports_);
      throw failed("fork", error);
    }
  }
  // It may be held up by a process that it looks at, and not even a SIGKILL end that before the process goes on.
  ~Looker() {
    close(reports_);
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, WNOHANG);
  }
  Looker(const Looker&) = delete;
  Looker& operator=(const Looker&) = delete;

  // False: it has said all, or nothing for so long.
  bool next(Report* report, int timeout_ms) {
    pollfd wait{reports_, POLLIN, 0};
    return poll(&wait, 1, timeout_ms) > 0 && read(reports_, report, sizeof *report) == ssize_t(sizeof *report);
  }

 private:
  pid_t child_;
  int reports_ = -1;
};

std::string named(pid_t pid) { return std::to_string(pid) + " " + read_proc(std::to_string(pid), ProcFile::comm); }

}  // namespace

UnseenProcesses processes_below(const std::string& directory) {
  std::vector<pid_t> pids = process_ids();
  std::erase(pids, getpid());
  UnseenProcesses found;
  int held_up = 0;  // ms
  for (const pid_t *next = pids.data(), *const end = next + pids.size(); next != end;) {
    if (held_up >= kTotalTimeoutMs) {
      found.not_looked_at.push_back(std::to_string(end - next) + " more processes");
      break;
    }
    Looker looker(next, end, directory);
    Report report;
    while (next != end && looker.next(&report, kTimeoutMs)) {
      if (report.look == Look::maps) found.mapping.push_back(named(report.pid));
      if (report.look == Look::maps || report.look == Look::holds) found.processes.push_back(named(report.pid));
      if (report.look != Look::begins) ++next;
    }
    if (next == end) break;
    found.not_looked_at.push_back(named(*next++));
    held_up += kTimeoutMs;
  }
  return found;
}

}  // namespace fsr::shim
