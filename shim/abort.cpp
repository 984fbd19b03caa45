// SPDX-License-Identifier: Apache-2.0
// fsshim abort DIR
#include "abort.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "capture_error.hpp"
#include "control.hpp"
#include "mount.hpp"
#include "subcommands.hpp"
#include "util/units.hpp"

namespace fsr::shim {

namespace {

int write_abort(int directory, const std::string& file) {
  const int fd = openat(directory, file.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = write(fd, "1", 1) == 1 ? 0 : errno;
  close(fd);
  return error;
}

// The kernel's file system of FUSE connections, mounted nowhere. -1 and errno.
int open_connections() {
  const int context = fsopen("fusectl", FSOPEN_CLOEXEC);
  if (context < 0) return -1;
  int mount = -1;
  if (fsconfig(context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0) mount = fsmount(context, FSMOUNT_CLOEXEC, 0);
  const int error = errno;
  close(context);
  errno = error;
  return mount;
}

// The path as the capture has it; the directory itself is not accessed.
std::string written_absolute(const std::string& directory) {
  std::string path = (std::filesystem::current_path() / directory).lexically_normal();
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

std::optional<unsigned> connection_of(const std::string& directory) {
  if (const std::optional<MountEntry> mount = mount_of_source(directory)) return minor(mount->dev);
  // One of a command is mounted in its own namespace.
  for (FoundCapture& capture : find_captures(0))
    if (capture.alive && capture.info["directory"] == escape_text(directory) && !capture.info["connection"].empty())
      return unsigned(strtoul(capture.info["connection"].c_str(), nullptr, 10));
  return {};
}

}  // namespace

int abort_connection(unsigned number) {
  const std::string file = std::to_string(number) + "/abort";
  const int connections = open_connections();  // first, because /sys may be captured, too
  if (connections < 0) return write_abort(AT_FDCWD, "/sys/fs/fuse/connections/" + file);
  const int error = write_abort(connections, file);
  close(connections);
  return error;
}

int run_abort(const std::string& given) {
  const std::string directory = written_absolute(given), written = escape_text(directory);
  const std::optional<unsigned> connection = connection_of(directory);
  if (!connection) {
    dprintf(STDERR_FILENO, "fsshim: %s: not captured by this user; give the name that 'fsshim list' shows\n", written.c_str());
    return 1;
  }
  if (const int error = abort_connection(*connection); error != 0)
    throw failed(directory + ": FUSE connection " + std::to_string(*connection) + " not aborted", error);
  printf("aborted: requests to %s fail from now on; the capture ends\n", written.c_str());
  return 0;
}

}  // namespace fsr::shim
