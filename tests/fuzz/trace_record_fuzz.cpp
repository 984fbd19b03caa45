// SPDX-License-Identifier: Apache-2.0
// What is inside a trace's zstd frames: records of operations, which a modelled NFS client sees too, and checkpoints. zstd's own
// checksum keeps a fuzzer of whole files out of here.
#include <cstdlib>
#include <string_view>

#include "mix/linux_client.hpp"
#include "trace/block_decoder.hpp"
#include "trace/live_state.hpp"

using namespace fsr;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string record(reinterpret_cast<const char*>(data), size);
  if (size > 8 && record[0] == 'C') {
    LiveState state;
    if (state.restore(std::string_view(record).substr(8))) {
      // What was understood must be understood again.
      LiveState again;
      if (!again.restore(state.serialize())) abort();
    }
    return 0;
  }
  // The length in front is the first thing a mutation breaks.
  if (size >= 8) {
    const uint32_t length = uint32_t(size);
    memcpy(record.data() + 4, &length, sizeof length);
  }
  BlockDecoder decoder(100);
  if (!decoder.begin(record)) return 0;
  OpBatch batch;
  LiveState state;
  LinuxClient client({});
  Row row;
  for (;;) {
    Op op;
    if (!decoder.next(&op, &row, batch.arena)) break;
    if (unsigned(op.kind) >= kOpKinds) abort();
    if (row.impossible) continue;
    if (op.duration < 0) abort();
    state.apply(op);
    client.apply(op);
  }
  return 0;
}
