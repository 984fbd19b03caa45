// SPDX-License-Identifier: Apache-2.0
// The reader on two foreign files that claim to be pieces of one series. Input: u16 length of the first file, and both. Checksums
// would keep a fuzzer out, so the sections' are made right before reading.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "mend_sections.hpp"
#include "trace/live_state.hpp"
#include "trace/reader.hpp"

using namespace fsr;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static int file_of(std::string bytes) {
  mend_sections(bytes);
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0 || write(fd, bytes.data(), bytes.size()) != ssize_t(bytes.size())) abort();
  return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  uint16_t first;
  memcpy(&first, data, 2);
  std::string bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  int fds[] = {file_of(bytes.substr(0, first)), file_of(bytes.substr(std::min<size_t>(first, bytes.size())))};
  auto path = [&](int i) { return "/proc/self/fd/" + std::to_string(fds[i]); };
  try {
    TraceReader reader({path(0), path(1)});
    OpBatch batch;
    for (int batches = 0; batches < 64 && reader.next(batch);) ++batches;
    reader.check_checkpoints();
    LiveState state;
    reader.load_state(reader.begin_time(), state);
    reader.next(batch);
  } catch (const std::runtime_error&) {
    // A refusal is an answer.
  }
  for (int fd : fds) close(fd);
  return 0;
}
