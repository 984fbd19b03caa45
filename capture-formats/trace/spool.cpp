// SPDX-License-Identifier: Apache-2.0
#include "spool.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>

#include "util/unique_fd.hpp"

namespace fsr {

[[noreturn]] static void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

static std::string pattern() {
  const char* folder = getenv("TMPDIR");
  return std::string(folder && *folder ? folder : "/var/tmp") + "/fsshim-spool-XXXXXX";
}

int unnamed_file() {
  std::string path = pattern();
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) fail(path);
  unlink(path.c_str());
  return fd;
}

void append_to(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) fail(pattern());
    if (n > 0) bytes.remove_prefix(size_t(n));
  }
}

int spool_to_file(int fd) {
  UniqueFd out(unnamed_file());
  constexpr size_t kBuffer = 1 << 20;
  auto buffer = std::make_unique<char[]>(kBuffer);
  for (;;) {
    const ssize_t n = read(fd, buffer.get(), kBuffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("input");
    if (n == 0) break;
    append_to(out.get(), {buffer.get(), size_t(n)});
  }
  lseek(out.get(), 0, SEEK_SET);
  return out.release();
}

}  // namespace fsr
