// SPDX-License-Identifier: Apache-2.0
#include "spool.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>

namespace fsr {

namespace {

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

int spool_to_file(int fd) {
  const char* folder = getenv("TMPDIR");
  std::string path = std::string(folder && *folder ? folder : "/var/tmp") + "/fsshim-spool-XXXXXX";
  int out = mkostemp(path.data(), O_CLOEXEC);
  if (out < 0) fail(path);
  unlink(path.c_str());
  constexpr size_t kBuffer = 1 << 20;
  auto buffer = std::make_unique<char[]>(kBuffer);
  for (;;) {
    ssize_t n = read(fd, buffer.get(), kBuffer);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) break;
    ssize_t written = 0;
    while (n > 0 && written < n) {
      ssize_t w = write(out, buffer.get() + written, size_t(n - written));
      if (w < 0 && errno != EINTR) break;
      if (w > 0) written += w;
    }
    if (n < 0 || written < n) {
      int error = errno;
      close(out);
      errno = error;
      fail(n < 0 ? "input" : path);
    }
  }
  lseek(out, 0, SEEK_SET);
  return out;
}

}  // namespace fsr
