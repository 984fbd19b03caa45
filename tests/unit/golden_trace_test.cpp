// SPDX-License-Identifier: Apache-2.0
// Reads a trace of each format version, which must stay readable for ever: data/golden-vN.zst. data/golden-vN.txt has its
// content.
#include <xxhash.h>

#include <fstream>
#include <string>

#include "catch.hpp"
#include "test_data.hpp"
#include "trace/live_state.hpp"
#include "trace_samples.hpp"

namespace fsr::golden_trace_test {

TEST_CASE("the reader returns the golden trace of version 1 unchanged") {
  TraceReader reader(test_data("golden-v1.zst"));
  const TraceHeader expected = sample_header(1);
  CHECK(reader.header().version == 1);
  CHECK(reader.header().clock_unit == 1);
  CHECK(reader.header().program == "fsshim 0.1.0");
  CHECK(reader.header().directory == expected.directory);
  CHECK(reader.header().epoch == expected.epoch);
  CHECK(reader.header().not_seen == expected.not_seen);
  REQUIRE(reader.closing());
  CHECK(reader.closing()->reason == "command ended");
  CHECK(reader.closing()->waited == 3);
  CHECK(reader.closing()->end == 2'000'000);
  std::ifstream text(test_data("golden-v1.txt"));
  std::string line;
  size_t lines = 0;
  bool kinds[kOpKinds] = {};
  OpBatch batch;
  while (reader.next(batch))
    for (const Op& op : batch.ops) {
      kinds[unsigned(op.kind)] = true;
      // Each operation is one line, although its names and targets contain a line break and bytes that are not UTF-8.
      std::string got = describe(op);
      for (char& c : got)
        if (c == '\n') c = '|';
      REQUIRE(std::getline(text, line));
      CHECK(got == line);
      ++lines;
    }
  CHECK_FALSE(std::getline(text, line));
  CHECK(lines == reader.operations());
  for (bool seen : kinds) CHECK(seen);
  LiveState state;
  reader.load_state(1'000'000, state);
  reader.check_checkpoints();
  CHECK(state.objects() > 1);
  CHECK(reader.damage().empty());
}

TEST_CASE("the reader returns the golden trace with fingerprints unchanged") {
  TraceReader reader(test_data("golden-v1-blocks.zst"));
  CHECK(reader.header().content == "fingerprint");
  REQUIRE(reader.closing());
  std::string text(8192, 0);
  for (size_t i = 0; i < text.size(); ++i) text[i] = "golden "[i % 7];
  const uint64_t first = XXH3_64bits(text.data(), 4096), second = XXH3_64bits(text.data() + 4096, 4096);
  uint64_t writes = 0, reads = 0;
  OpBatch batch;
  while (reader.next(batch))
    for (const Op& op : batch.ops) {
      if (op.kind == OpKind::write) {
        ++writes;
        REQUIRE(op.blocks.size() == 3);
        CHECK(op.blocks[0].hash == first);
        CHECK(op.blocks[0].level == 1);
        CHECK(op.blocks[1].hash == second);
        CHECK(op.blocks[2].hash == 0);
        CHECK(op.blocks[2].level == 0);
      } else if (op.kind == OpKind::read && op.result == 1000) {
        ++reads;
        REQUIRE(op.blocks.size() == 2);  // 500 bytes of the first block, 500 of the second
        CHECK(op.blocks[0].hash == XXH3_64bits(text.data() + 3596, 500));
        CHECK(op.blocks[1].hash == XXH3_64bits(text.data() + 4096, 500));
      } else {
        CHECK(op.blocks.empty());
      }
    }
  CHECK(writes == 1);
  CHECK(reads == 1);
  CHECK(reader.damage().empty());
}

}  // namespace fsr::golden_trace_test
