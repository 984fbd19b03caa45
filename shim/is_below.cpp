// SPDX-License-Identifier: Apache-2.0
#include "is_below.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fsr {

static bool same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

bool is_below(int fd, int root) {
  struct stat top, here, last = {};
  if (fstat(root, &top) != 0) return false;
  int at = dup(fd);
  bool inside = false;
  while (at >= 0 && fstat(at, &here) == 0 && !same_file(here, last)) {
    if (same_file(here, top)) {
      inside = true;
      break;
    }
    last = here;
    int up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    close(at);
    at = up;
  }
  if (at >= 0) close(at);
  return inside;
}

}  // namespace fsr
