// SPDX-License-Identifier: Apache-2.0
// trace_size FILE...: encodes given traces again, with times at 1 ns (or the trace's own unit) and 100 ns, with and without the
// attributes that replies carried. Prints bytes per operation, of the whole trace and of each group of columns compressed by
// itself.
#include <fmt/format.h>

#include <map>
#include <string>

#include "trace/block_encoder.hpp"
#include "trace/frame_codec.hpp"
#include "trace/reader.hpp"

using namespace fsr;

constexpr uint32_t kBlockOps = 16384;

static const char* group_of(unsigned column) {
  if (column <= kColTimeEscape) return column == kColStartBits || column == kColStartClass ? "start" : "duration";
  if (column <= kColShapeDefinition) return "kind";
  if (column >= kColThread && column <= kColGid) return "who";
  if (column >= kColObject && column <= kColHandle2) return "objects";
  if (column >= kColOffset && column <= kColResult) return "ranges";
  if (column >= kColName && column <= kColNameBytes) return "names";
  if (column >= kColEntryCount && column <= kColEntryType) return "entries";
  if (column >= kColAttrMask) return "attributes";
  return "other";
}

static void measure(const std::string& path, uint32_t unit, bool attributes) {
  TraceReader reader(path);
  BlockEncoder encoder(unit, attributes);
  FrameCompressor zstd(3);
  ByteWriter whole, alone;
  std::map<std::string, size_t> groups;
  uint64_t count = 0;
  auto close_block = [&] {
    std::string_view record = encoder.record();
    zstd.compress(record, encoder.borders(), whole);
    for (unsigned i = 0; i < kColumns; ++i) {
      if (encoder.column(i).empty()) continue;
      alone.clear();
      zstd.compress(encoder.column(i), {}, alone);
      groups[group_of(i)] += alone.size();
    }
    encoder.begin(count);
  };
  OpBatch batch;
  encoder.begin(0);
  while (reader.next(batch))
    for (const Op& op : batch.ops) {
      encoder.add(op, RowType::whole, 0);
      ++count;
      if (encoder.rows() == kBlockOps) close_block();
    }
  close_block();
  auto per_op = [&](size_t bytes) { return double(bytes) / double(count ? count : 1); };
  fmt::print("{:>6} ns {:>3} attributes: {:.2f} bytes/op (", unit, attributes ? "" : "no", per_op(whole.size()));
  const char* separator = "";
  for (const auto& [name, bytes] : groups) {
    fmt::print("{}{} {:.2f}", separator, name, per_op(bytes));
    separator = ", ";
  }
  fmt::print(")\n");
}

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    fmt::print("{}\n", argv[i]);
    const uint32_t finest = TraceReader(argv[i]).header().clock_unit;
    for (bool attributes : {false, true}) {
      measure(argv[i], finest, attributes);
      if (finest < 100) measure(argv[i], 100, attributes);
    }
  }
}
