// SPDX-License-Identifier: Apache-2.0
#include "message_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

#include "capture_error.hpp"

namespace fsr::shim {

namespace {

void lead_to(int fd, std::initializer_list<int> streams) {
  for (int stream : streams) dup2(fd, stream);
}

void copy_all(int from, int to) {
  char text[4096];
  for (ssize_t n; (n = read(from, text, sizeof text)) > 0;) (void)!write(to, text, size_t(n));
  close(from);
  close(to);
}

}  // namespace

MessageLog::MessageLog(int log_fd) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw failed("pipe", errno);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC), log = fcntl(log_fd, F_DUPFD_CLOEXEC, 3);
  if (null >= 0) lead_to(null, {0});
  close(null);
  lead_to(ends[1], {1, 2});
  close(ends[1]);
  writer_ = std::thread([from = ends[0], log] { copy_all(from, log); });
}

MessageLog::~MessageLog() {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  lead_to(null, {1, 2});  // the pipe's last writers
  close(null);
  writer_.join();
}

}  // namespace fsr::shim
