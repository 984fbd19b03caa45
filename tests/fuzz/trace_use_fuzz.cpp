// SPDX-License-Identifier: Apache-2.0
// Foreign traces through what uses them: statistics, report and comparison; image, plan and engine, onto null: and memory:. What
// the reader lets through must neither crash these nor keep them busy, nor take much memory (libFuzzer's -rss_limit_mb).
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "engine/prepare.hpp"
#include "engine/run.hpp"
#include "fstrace/compare_result.hpp"
#include "fstrace/pairing.hpp"
#include "fstrace/profile.hpp"
#include "fstrace/stat_groups.hpp"
#include "mend_sections.hpp"
#include "plan/image.hpp"
#include "trace/frame_codec.hpp"
#include "trace/live_state.hpp"
#include "trace/reader.hpp"
#include "util/object_set.hpp"

using namespace fsr;
using namespace fsr::fstrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed);
extern "C" __attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);  // libFuzzer's

namespace {

constexpr uint64_t kMostMade = 8 << 20;       // bytes of files: more is right, and takes long
constexpr int64_t kRunFor = 2'000'000;        // ns
constexpr size_t kAnalyzeMemory = 512 << 20;  // bytes

int file_of(const std::string& bytes) {
  const int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0 || write(fd, bytes.data(), bytes.size()) != ssize_t(bytes.size())) abort();
  return fd;
}

void look(const std::string& bytes) {
  TraceReader reader(file_of(bytes), "fuzz"), other(file_of(bytes), "fuzz");
  Profile one, two;
  Pairing pairing(true);
  StatGroups groups({Dimension::command, Dimension::file});
  one.read(reader, "fuzz", [&](const OpBatch& batch) {
    groups.begin_batch();
    for (const Op& op : batch.ops) {
      groups.add(op);
      pairing.add(op, Pairing::first);
    }
  });
  two.read(other, "fuzz", [&](const OpBatch& batch) {
    for (const Op& op : batch.ops) pairing.add(op, Pairing::second);
  });
  pairing.finish();
  const Comparison same = compare_profiles(one, two, pairing);
  if (compare_text(one, two, same).empty() || compare_html(one, two, same).empty()) abort();
}

// Without threads, whose starts would take most of the time.
void replay(const std::string& bytes, const char* url, Timing timing) {
  MonotonicClock clock;
  const std::unique_ptr<Target> target = open_target(url, {.clock = &clock});
  TraceReader survey(file_of(bytes), "fuzz"), source(file_of(bytes), "fuzz");
  Image image = Image::analyze(survey, LiveState(), {.memory = kAnalyzeMemory});
  if (image.summary().bytes > kMostMade) return;
  ObjectSet known;
  prepare(image, *target, clock, {.trace_id = "fuzz", .inline_workers = true}, known);
  run(source, *target, clock, {.timing = timing, .duration = kRunFor, .known = &known, .inline_workers = true});
}

struct Block {
  size_t at;  // of its section
  BlockHeader header;
};

std::vector<Block> blocks_of(std::string_view bytes) {
  std::vector<Block> blocks;
  for (size_t at = bytes.find("fsrTB"); at != std::string::npos; at = bytes.find("fsrTB", at + 1)) {
    if (at < 8 || at - 8 + kBlockHeaderSize > bytes.size()) continue;
    const auto header = parse_block_header(bytes.substr(at - 8 + kSectionOverhead, kBlockHeaderBody));
    if (header && header->compressed_bytes <= bytes.size() - (at - 8) - kBlockHeaderSize) blocks.push_back({at - 8, *header});
  }
  return blocks;
}

// Changes the content of one block, which zstd's checksum would keep from every other change. False: it has none that is whole.
bool change_block(std::string& bytes, unsigned seed) {
  const std::vector<Block> blocks = blocks_of(bytes);
  if (blocks.empty()) return false;
  auto [at, header] = blocks[seed % blocks.size()];
  FrameDecompressor decompressor;
  std::string_view record;
  std::string why;
  const size_t frame = at + kBlockHeaderSize;
  if (!decompressor.decompress(std::string_view(bytes).substr(frame, header.compressed_bytes), &record, &why)) return false;
  std::string changed(record);
  changed.resize(record.size() + 64);
  changed.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(changed.data()), record.size(), changed.size()));
  if (changed.size() < 8) return false;
  const auto length = uint32_t(changed.size());
  memcpy(changed.data() + 4, &length, sizeof length);
  ByteWriter out;
  FrameCompressor(1).compress(changed, {}, out);
  header.raw_bytes = length;
  const auto old = std::exchange(header.compressed_bytes, uint32_t(out.view().size()));
  bytes.replace(at, kBlockHeaderSize + old, block_header_section(header) + std::string(out.view()));
  return true;
}

}  // namespace

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (seed % 8 == 0 || !change_block(bytes, seed / 8) || bytes.size() > most) return LLVMFuzzerMutate(data, size, most);
  memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  mend_sections(bytes);
  // A refusal is an answer.
  try {
    look(bytes);
  } catch (const std::exception&) {
  }
  for (const char* url : {"null:", "memory:"}) try {
      replay(bytes, url, url[0] == 'n' ? Timing::original : Timing::asap);
    } catch (const std::exception&) {
    }
  return 0;
}
