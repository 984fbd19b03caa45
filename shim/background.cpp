// SPDX-License-Identifier: Apache-2.0
#include "background.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "capture_error.hpp"
#include "util/units.hpp"

namespace fsr::shim {

Background::Background() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw failed("pipe", errno);
  const pid_t child = fork();
  if (child < 0) throw failed("fork", errno);
  if (child == 0) {
    close(ends[0]);
    report_fd_ = ends[1];
    setsid();
    return;
  }
  close(ends[1]);
  std::string line;
  char buffer[4096];
  // Other children of the child hold the pipe, too: its end comes only if all of them end.
  for (ssize_t n; !line.ends_with('\n') && (n = read(ends[0], buffer, sizeof buffer)) > 0;) line.append(buffer, size_t(n));
  if (!line.empty()) {
    dprintf(STDERR_FILENO, "%s", line.c_str());
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
}

Background::~Background() {
  if (report_fd_ >= 0) close(report_fd_);
}

void Background::ready(const std::string& directory, const CaptureOutput& output) {
  const std::string line = "fsshim: " + escape_text(directory) + " is captured by process " + std::to_string(getpid()) +
                           "; messages go to " + escape_text(output.log_name()) + "\n";
  messages_ = std::make_unique<MessageLog>(output.log_fd());
  if (chdir("/") != 0) throw failed("/", errno);
  (void)!write(report_fd_, line.data(), line.size());
  close(report_fd_);
  report_fd_ = -1;
}

std::unique_ptr<Background> go_to_background(bool wanted, bool command) {
  if (!wanted) return nullptr;
  if (command)
    throw CaptureError(
        "--background: not possible with a command, because fsshim waits for the command; leave --background or the command out");
  return std::make_unique<Background>();
}

void notify_service_manager(const std::string& state) {
  const char* path = getenv("NOTIFY_SOCKET");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string name = path ? path : "";
  if (name.size() < 2 || name.size() >= sizeof address.sun_path) return;
  name.copy(address.sun_path, name.size());
  if (name[0] == '@') address.sun_path[0] = 0;  // an abstract address
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const auto length = socklen_t(offsetof(sockaddr_un, sun_path) + name.size());
  (void)!sendto(fd, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&address), length);
  close(fd);
}

}  // namespace fsr::shim
