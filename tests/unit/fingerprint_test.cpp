// SPDX-License-Identifier: Apache-2.0
// Tests fingerprints of content: how they are taken, measured, stored, and turned into data again.
#include "fingerprint.hpp"

#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include <random>
#include <string>

#include "catch.hpp"
#include "plan/print_data.hpp"
#include "ring.hpp"
#include "trace/reader.hpp"
#include "trace_samples.hpp"

namespace fsr::fingerprint_test {

using namespace fsr::shim;

namespace {

std::string noise(size_t bytes, unsigned seed) {
  std::mt19937_64 random(seed);
  std::string out(bytes, 0);
  for (char& c : out) c = char(random());
  return out;
}

std::string text(size_t bytes) {
  std::string out;
  for (unsigned i = 0; out.size() < bytes; ++i) out += "line " + std::to_string(i % 100) + " of a log that says little\n";
  out.resize(bytes);
  return out;
}

Op io(OpKind kind, uint64_t offset, const std::string& data) {
  return {.kind = kind, .object = 2, .handle = 1, .offset = offset, .length = data.size(), .result = data.size()};
}

size_t compressed(std::string_view data) {
  std::string out(ZSTD_compressBound(data.size()), 0);
  return ZSTD_compress(out.data(), out.size(), data.data(), data.size(), 3);
}

}  // namespace

TEST_CASE("a transfer has a fingerprint for each block of the file, and marks blocks of zeros") {
  std::string data = noise(1000, 1) + std::string(4096, 0) + noise(5000, 2);
  Op op = io(OpKind::write, 4096 - 1000, data);
  Fingerprinter prints({1, 2});
  auto alone = [&](size_t from, size_t bytes) {
    Op one = io(OpKind::write, 0, data.substr(from, bytes));
    Fingerprinter again({1, 2});
    again.take(one, data.data() + from, bytes);
    REQUIRE(one.blocks.size() == 1);
    return one.blocks[0].hash;
  };
  prints.take(op, data.data(), data.size());
  REQUIRE(op.blocks.size() == 4);
  CHECK(op.blocks[0].hash == alone(0, 1000));
  CHECK(op.blocks[1].level == 0);
  CHECK(op.blocks[1].hash == 0);
  CHECK(op.blocks[2].hash == alone(5096, 4096));
  CHECK(op.blocks[3].hash == alone(9192, 904));
  // An empty read has no fingerprints.
  prints.take(op, data.data(), 0);
  CHECK(op.blocks.empty());
}

TEST_CASE("fingerprints of two captures have nothing in common") {
  const std::string pin = "1234";
  Op first = io(OpKind::write, 0, pin), second = first;
  Fingerprinter one(random_fingerprint_key()), other(random_fingerprint_key());
  one.take(first, pin.data(), pin.size());
  other.take(second, pin.data(), pin.size());
  CHECK(first.blocks[0].hash != second.blocks[0].hash);
  CHECK(first.blocks[0].hash != XXH3_64bits(pin.data(), pin.size()));
}

TEST_CASE("the hash is SipHash-2-4") {
  // The expected hash comes from the XXH3 of "some", eee6b87a4ce0696c d30d9a6c4a70218e, which another program computed.
  const std::string data = "some";
  const FingerprintKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  Op op = io(OpKind::write, 0, data);
  Fingerprinter prints(key);
  prints.take(op, data.data(), data.size());
  CHECK(op.blocks[0].hash == 0x3150e294d3959707);
}

TEST_CASE("the level of a block comes from samples, and equal blocks have equal levels") {
  Fingerprinter prints({1, 2});
  CompressionMeter meter;
  auto levels = [&](ObjectId object, const std::string& data) {
    Op op = io(OpKind::write, 0, data);
    prints.take(op, data.data(), data.size());
    auto found = meter.levels(op.blocks, op.data, object, op.offset, op.result);
    return std::vector<BlockPrint>(found.begin(), found.end());
  };
  std::vector<BlockPrint> random = levels(2, noise(256 * 4096, 3));
  size_t incompressible = 0;
  for (const BlockPrint& p : random) incompressible += p.level == 8;
  CHECK(incompressible == random.size());
  std::string log;
  for (unsigned i = 0; i < 256; ++i) log += "block " + std::to_string(i) + text(4090).substr(0, 4090 - std::to_string(i).size());
  std::vector<BlockPrint> plain = levels(3, log);
  REQUIRE(plain.size() == 256);
  CHECK(plain.back().level >= 1);
  CHECK(plain.back().level <= 3);
  // The same content gets the same level again, whatever else the object holds.
  std::vector<BlockPrint> again = levels(3, log);
  CHECK(again.front().level == plain.front().level);
  std::string mixed = noise(4096, 3);
  CHECK(levels(3, mixed)[0].level == 8);
}

TEST_CASE("the ring and the trace return fingerprints unchanged") {
  std::string data = noise(3 * 4096, 4), other = text(700);
  Fingerprinter prints({1, 2});
  ChunkPool pool(65536, 65536);
  Ring ring(pool);
  Ring::View view;
  Op op = io(OpKind::write, 100, data);
  op.name = "name";
  ring.enter();
  ring.start(op);
  prints.take(op, data.data(), data.size());
  REQUIRE(ring.room(Ring::need(op)));
  ring.finish(op);
  std::vector<BlockPrint> taken(op.blocks.begin(), op.blocks.end());
  const std::string samples(op.data);
  prints.take(op, other.data(), other.size());
  ring.read(*ring.front(), view);
  REQUIRE(view.op.blocks.size() == 4);
  for (size_t i = 0; i < 4; ++i) CHECK(view.op.blocks[i].hash == taken[i].hash);
  CHECK(view.op.data == samples);
  CHECK(view.op.name == "name");

  CompressionMeter meter;
  Op stored = view.op;
  stored.blocks = meter.levels(view.op.blocks, view.op.data, 2, 100, data.size());
  stored.data = {};
  stored.name = {};
  Op empty = io(OpKind::read, 0, "");
  int fd = memory_file(), keep = dup(fd);
  TraceWriter writer(fd, sample_header(1));
  writer.add(stored);
  writer.add(empty);
  writer.finish({.clean = true});
  TraceReader reader(file_with(contents(keep)), "memory");
  close(keep);
  OpBatch batch;
  REQUIRE(reader.next(batch));
  REQUIRE(batch.ops.size() == 2);
  CHECK(describe(batch.ops[0]) == describe(rounded(stored, 1)));
  CHECK(batch.ops[1].blocks.empty());
  Arena arena;
  CHECK(describe(copy_op(batch.ops[0], arena)) == describe(batch.ops[0]));
}

TEST_CASE("data generated from fingerprints has the same zeros and duplicates, and about the same compressibility") {
  std::vector<BlockPrint> blocks;
  for (unsigned level = 0; level <= 8; ++level) blocks.push_back({level ? 1000 + level : 0, uint8_t(level)});
  blocks.push_back(blocks[4]);
  std::string data(blocks.size() * 4096 + 50, 'x');
  print_data(blocks, 0, {data.data(), data.size()});
  auto block = [&](size_t i) { return std::string_view(data).substr(i * 4096, 4096); };
  CHECK(block(0) == std::string(4096, 0));
  CHECK(block(9) == block(4));
  CHECK(block(3) != block(4));
  CHECK(std::string_view(data).substr(blocks.size() * 4096) == std::string(50, 0));
  for (unsigned level = 1; level <= 8; ++level) {
    const size_t size = compressed(block(level));
    CHECK(size > 4096 * (level - 1) / 8);
    CHECK(size < 4096 * level / 8 + 100);
  }
}

TEST_CASE("a check of a read block tells the expected block from another one and from foreign data") {
  const BlockPrint one{0x1234, 3}, other{0x5678, 8}, zero{};
  std::string got(4096, 'x');
  auto make = [&](const BlockPrint& p) {
    print_data({&p, 1}, 0, {got.data(), got.size()});
    return std::string_view(got);
  };
  CHECK(compare_block(one, make(one)) == BlockMatch::same);
  CHECK(compare_block(one, make(other)) == BlockMatch::other);
  CHECK(compare_block(zero, make(one)) == BlockMatch::other);
  CHECK(compare_block(zero, make(zero)) == BlockMatch::same);
  CHECK(compare_block(one, make({0x1234, 5})) == BlockMatch::same);
  CHECK(compare_block(one, make(zero)) == BlockMatch::unknown);
  CHECK(compare_block(one, noise(4096, 9)) == BlockMatch::unknown);
  CHECK(compare_block(one, "short") == BlockMatch::unknown);
  // The read covers only the beginning of a block: git reads the first 12 bytes of a pack.
  const BlockPrint dense{0x99, 8};
  CHECK(compare_block(one, make(dense).substr(0, 12)) == BlockMatch::unknown);
  CHECK(compare_block(one, make(dense)) == BlockMatch::other);
  make(one);
  got[4000] = 'y';
  CHECK(compare_block(one, got) == BlockMatch::unknown);
}

}  // namespace fsr::fingerprint_test
