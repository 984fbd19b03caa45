// SPDX-License-Identifier: Apache-2.0
// The trace reader on foreign files. Checksums would keep a fuzzer out, so the sections' are made right before reading.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "mend_sections.hpp"
#include "trace/live_state.hpp"
#include "trace/reader.hpp"

using namespace fsr;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static void read_everything(const std::string& bytes) {
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0 || write(fd, bytes.data(), bytes.size()) != ssize_t(bytes.size())) abort();
  try {
    TraceReader reader(fd, "fuzz");
    OpBatch batch;
    int64_t middle = reader.end_time() / 2;
    for (int batches = 0; batches < 64 && reader.next(batch); ++batches)
      for (const Op& op : batch.ops)
        if (unsigned(op.kind) >= kOpKinds || op.duration < 0) abort();
    reader.check_checkpoints();
    LiveState state;
    reader.load_state(middle, state);
    reader.next(batch);
    reader.seek_op(reader.operations() / 2);
    reader.next(batch);
  } catch (const std::runtime_error&) {
    // A refusal is an answer.
  }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  read_everything(bytes);
  mend_sections(bytes);
  read_everything(bytes);
  return 0;
}
