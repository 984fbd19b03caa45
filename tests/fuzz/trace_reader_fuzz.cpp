// SPDX-License-Identifier: Apache-2.0
// The trace reader on foreign files. Checksums would keep a fuzzer out, so the sections' are made right before reading.
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "trace/frame.hpp"
#include "trace/live_state.hpp"
#include "trace/reader.hpp"

using namespace fsr;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static void mend_sections(std::string& bytes) {
  for (size_t at = 0; at + kSectionOverhead <= bytes.size(); ++at) {
    uint64_t length = section_length(std::string_view(bytes).substr(at, kSectionOverhead));
    if (!length || length > bytes.size() - at) continue;
    const uint64_t seed = uint64_t(uint8_t(bytes[at + 12])) << 8 | uint8_t(bytes[at + 13]);
    const uint64_t sum = XXH64(bytes.data() + at + kSectionOverhead, length - kSectionOverhead, seed);
    memcpy(bytes.data() + at + 16, &sum, sizeof sum);
  }
}

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
