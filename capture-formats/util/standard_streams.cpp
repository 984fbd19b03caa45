// SPDX-License-Identifier: Apache-2.0
#include "util/standard_streams.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <initializer_list>

namespace fsr {

void occupy_standard_streams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

void survive_size_limits() {
  signal(SIGXFSZ, [](int) {});  // not SIG_IGN, which programs that are executed would inherit
}

static int print_error = 0;  // errno

void print_whole(std::string_view text) {
  fflush(stdout);
  while (!text.empty() && !print_error) {
    const ssize_t n = write(STDOUT_FILENO, text.data(), text.size());
    if (n >= 0)
      text.remove_prefix(size_t(n));
    else if (errno != EINTR)
      print_error = errno;
  }
}

int status_of_output(const char* program, int status) {
  errno = print_error;
  if (!print_error && fflush(stdout) == 0 && !ferror(stdout)) return status;
  fprintf(stderr, "%s: standard output: %s\n", program, errno ? strerror(errno) : "the output could not be written completely");
  return status == 2 || status == 3 ? status : 1;  // which are worse
}

}  // namespace fsr
