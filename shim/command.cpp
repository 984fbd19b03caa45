// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "capture_error.hpp"

namespace fsr::shim {

namespace {

void report(int fd, const std::string& line) { (void)!write(fd, line.data(), line.size()); }

// Everything until the other end closes or says "ok".
std::string read_report(int fd) {
  std::string text;
  char buffer[512];
  for (ssize_t n; text != "ok" && (n = read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, size_t(n));
  return text;
}

}  // namespace

CapturedCommand::CapturedCommand(const std::vector<std::string>& argv, const ProcessSettings& original,
                                 const std::function<void()>& enter) {
  int report_ends[2], go_ends[2];
  if (pipe2(report_ends, O_CLOEXEC) != 0 || pipe2(go_ends, O_CLOEXEC) != 0) throw failed("pipe", errno);
  pid_ = fork();
  if (pid_ < 0) throw failed("fork", errno);
  if (pid_ == 0) {
    close(report_ends[0]);
    close(go_ends[1]);
    report_fd_ = report_ends[1];
    try {
      enter();
    } catch (const std::exception& e) {
      report(report_fd_, e.what());
      _exit(2);
    }
    report(report_fd_, "ok");
    run_child(argv, original, go_ends[0]);
  }
  close(report_ends[1]);
  close(go_ends[0]);
  report_fd_ = report_ends[0];
  go_fd_ = go_ends[1];
  std::string answer = read_report(report_fd_);
  if (answer != "ok") {
    waitpid(pid_, nullptr, 0);
    reaped_ = true;
    throw CaptureError(answer.empty() ? "the command's process ended before the command could start" : answer);
  }
}

CapturedCommand::~CapturedCommand() {
  for (int fd : {report_fd_, go_fd_})
    if (fd >= 0) close(fd);
  if (pid_ > 0 && !reaped_) {
    // The child never received the go: its pipe is closed now, so the child exits.
    waitpid(pid_, nullptr, 0);
  }
}

void CapturedCommand::run_child(const std::vector<std::string>& argv, const ProcessSettings& original, int go_fd) {
  char byte;
  if (read(go_fd, &byte, 1) != 1) _exit(2);
  // A working directory below the mount point was entered before the mount: enter it again, by name.
  char cwd[PATH_MAX];
  if (getcwd(cwd, sizeof cwd)) (void)!chdir(cwd);
  for (const auto& [resource, limit] : original.limits) setrlimit(__rlimit_resource(resource), &limit);
  umask(original.umask);
  restore_signals(original.signals);
  std::vector<char*> arguments;
  for (const std::string& a : argv) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  int error = errno;
  report(report_fd_, argv[0] + ": " + strerror(error));
  _exit(error == ENOENT ? 127 : 126);
}

void CapturedCommand::look_at(const std::string& path) const {
  struct stat s;
  (void)!stat(("/proc/" + std::to_string(pid_) + "/root" + path).c_str(), &s);
}

void CapturedCommand::go() {
  (void)!write(go_fd_, "g", 1);
  std::string answer = read_report(report_fd_);
  if (answer.empty()) return;
  int raw = 0;
  reaped_ = waitpid(pid_, &raw, 0) == pid_;
  throw CommandError(answer, WEXITSTATUS(raw));
}

bool CapturedCommand::ended(int* status) {
  int raw;
  if (reaped_ || waitpid(pid_, &raw, WNOHANG) != pid_) return false;
  reaped_ = true;
  *status = WIFSIGNALED(raw) ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw);
  return true;
}

void CapturedCommand::send(int signal) const {
  if (!reaped_) kill(pid_, signal);
}

}  // namespace fsr::shim
