// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "inputs/input.hpp"
#include "inputs/mix_input.hpp"
#include "inputs/trace_input.hpp"
#include "trace/spool.hpp"

namespace fsr {

// The first whose sniff() accepts opens the input; a trace, when nobody does, says what is wrong with it.
static constexpr const InputPlugin* kPlugins[] = {
    &mix_plugin,
    &trace_plugin,
};

std::span<const InputPlugin* const> input_plugins() { return kPlugins; }

namespace {

struct Fd {
  int fd = -1;
  ~Fd() {
    if (fd >= 0) close(fd);
  }
  int release() {
    int out = fd;
    fd = -1;
    return out;
  }
};

}  // namespace

std::unique_ptr<Input> open_input(const std::string& name, const WorkloadOptions& options) {
  Fd file;
  file.fd = name == "-" ? dup(STDIN_FILENO) : open(name.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat st;
  if (file.fd >= 0 && fstat(file.fd, &st) == 0 && (name == "-" || S_ISFIFO(st.st_mode))) {
    const int copy = spool_to_file(file.fd);
    close(file.fd);
    file.fd = copy;
  }
  std::array<char, 4096> head;
  const ssize_t n = file.fd >= 0 ? pread(file.fd, head.data(), head.size(), 0) : 0;
  const std::string_view first(head.data(), size_t(std::max<ssize_t>(n, 0)));
  for (const InputPlugin* plugin : kPlugins)
    if (plugin->sniff(name, first)) return plugin->open(name, file.release(), options);
  // Perhaps pieces of a trace, of which the name is only the common part; and a trace says what is wrong with itself.
  return trace_plugin.open(name, file.release(), options);
}

}  // namespace fsr
