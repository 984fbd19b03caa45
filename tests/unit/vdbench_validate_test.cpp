// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "workloads/vdbench/run/recovery.hpp"
#include "workloads/vdbench/validate/bad_blocks.hpp"
#include "workloads/vdbench/validate/block_keys.hpp"
#include "workloads/vdbench/validate/journal.hpp"
#include "workloads/vdbench/validate/sector.hpp"

namespace fsr::vdbench_validate_test {

using namespace fsr::vdbench;

TEST_CASE("a sector identifies itself, and shows whether it is complete") {
  std::string block(4096, 'x');
  write_sectors(block.data(), block.size(), {.offset = 8192, .time = 77, .key = 5, .owner = "sd1"});
  for (uint64_t s = 0; s < 8; ++s) {
    SectorMark mark;
    CHECK(look_at_sector(block.data() + s * kSector, {}, &mark) == SectorState::written);
    CHECK(mark.offset == 8192 + s * kSector);
    CHECK(mark.time == 77);
    CHECK(mark.key == 5);
    CHECK(mark.owner == "sd1");
  }
  const SectorMark expected{.offset = 8192, .time = 0, .key = 5, .owner = "sd1"};
  SectorMark mark;
  for (size_t at = 0; at < kSector; ++at) {
    std::string hurt = block;
    hurt[at] = char(hurt[at] ^ 4);
    CHECK(look_at_sector(hurt.data(), expected, &mark) == SectorState::damaged);
  }
  CHECK(look_at_sector(std::string(512, '\0').data(), expected, &mark) == SectorState::zeros);
  CHECK(look_at_sector(std::string(512, 'x').data(), expected, &mark) == SectorState::foreign);
}

TEST_CASE("a sector says who wrote it") {
  std::string sector(kSector, 'x');
  write_sectors(sector.data(), kSector, {.owner = "sd1", .thread = 70'000, .rank = 3, .run = "a-run-of-twenty-chars"});
  SectorMark mark;
  REQUIRE(look_at_sector(sector.data(), {}, &mark) == SectorState::written);
  CHECK(writer_text(mark.run, mark.rank, mark.thread) == "rd=a-run-of-twenty- rank=3 thread=70000");
}

TEST_CASE("wrong blocks are summed up as ranges") {
  BadBlocks bad;
  CHECK(bad.lines().empty());
  for (uint64_t lba : {8192, 0, 4096, 16384}) bad.add({{"x", lba}, "sd=sd1 lun=x", "lost write", 4096});
  bad.add({{"x", 12288}, "sd=sd1 lun=x", "torn write", 4096});
  bad.add({{"x", 0}, "sd=sd2 lun=x", "lost write", 4096});
  const std::vector<std::string> lines = bad.lines();
  REQUIRE(lines.size() == 5);
  CHECK(lines[0] == "Ranges of wrong blocks: 4");
  CHECK(lines[1] == "sd=sd1 lun=x: lba=0 to 12288 (0x0 to 0x3000), 12288 bytes: lost write");
}

TEST_CASE("keys count the writes of a block and begin anew; blocks are claimed whole or not at all") {
  CHECK(next_key(0) == 1);
  CHECK(next_key(125) == 126);
  CHECK(next_key(126) == 1);
  BlockKeys keys(65536, 4096);
  REQUIRE(keys.claim(8192, 4096));
  CHECK_FALSE(keys.claim(4096, 8192));
  REQUIRE(keys.claim(4096, 4096));  // the claim was released
  keys.set(8192, 9);
  keys.release(8192, 4096);
  REQUIRE(keys.claim(8192, 8192));
  CHECK(keys.key(8192) == 9);
  CHECK(keys.key(12288) == BlockKeys::kUnknown);
}

namespace {

struct Directory {
  std::string name = std::filesystem::temp_directory_path() / "fsreplay-test.XXXXXX";
  Directory() { REQUIRE(mkdtemp(name.data())); }
  ~Directory() { std::filesystem::remove_all(name); }
};

constexpr uint64_t kBlock = 4096;

// Files in memory, one after the other at multiples of `room`, each with what it contains.
class MemorySource final : public RecoverySource {
 public:
  explicit MemorySource(uint64_t room) : room_(room) {}
  std::map<uint64_t, std::string> files;
  uint64_t end_of(uint64_t offset) const override { return offset / room_ * room_ + room_; }
  std::chrono::milliseconds delay{0};  // of each read
  std::string_view read(uint64_t offset, uint64_t length) override {
    std::this_thread::sleep_for(delay);
    const auto file = files.find(offset / room_ * room_);
    const uint64_t at = offset % room_;
    if (file == files.end() || at >= file->second.size()) return {};
    return std::string_view(file->second).substr(at, length);
  }
  void write(uint64_t offset, uint8_t key, int64_t time = 0) {
    std::string& file = files[offset / room_ * room_];
    file.resize(std::max<size_t>(file.size(), offset % room_ + kBlock));
    write_sectors(file.data() + offset % room_, kBlock, {.offset = offset, .time = time, .key = key, .owner = "fsd1"});
  }

 private:
  const uint64_t room_;
};

struct Recovering {
  FileSystem system;
  std::vector<std::string> told;
  std::atomic<bool> over{false};
  ErrorLog errors;
  ValidatedStorage storage;
  Validation how;
  ValidatedRun counts;
  explicit Recovering(uint64_t size, const ErrorLimits& limits = {.most = 1000})
      : errors(limits, over, [this](const std::string& line, const ErrorLocation&) { told.push_back(line); }),
        storage((system.name = "fsd1", system), size, kBlock) {
    storage.place_text = [](uint64_t offset) { return fmt::format("lba={}", offset); };
    storage.locate = [](uint64_t offset) { return ErrorLocation{"", offset}; };
  }
  RecoveryResult recover(const RecoveredKeys& known, RecoverySource& source) {
    Validator validator(storage, how, counts, errors, kBlock);
    return fsr::vdbench::recover(known, storage, validator, {}, source, errors);
  }
  uint8_t key(uint64_t block) const { return storage.keys.key(block * kBlock); }
};

}  // namespace

TEST_CASE("a journal ends at the first incomplete entry after a crash; entries lost in the middle are counted") {
  const Directory directory;
  {
    Journal journal(directory.name, "sd1", {.flushes = false});
    journal.begin(BlockKeys(8 * kBlock, kBlock));
    REQUIRE(journal.add(Journal::kWrites, {{1, 5}, {2, 6}, {3, 6}, {5, 6}}));  // blocks 2 and 3 are one entry
    REQUIRE(journal.add(Journal::kWritten, {{1, 5}}));
  }
  const std::string name = directory.name + "/sd1.jnl";
  REQUIRE(std::filesystem::file_size(name) == 16 + 4 * 24);
  std::ofstream(name, std::ios::app | std::ios::binary) << std::string(53, '\0');  // two entries of zeros, and part of one
  RecoveredKeys found = recover_keys(directory.name, "sd1");
  CHECK(found.keys[1] == 5);
  CHECK(found.pending == std::map<uint64_t, uint8_t>{{2, 6}, {3, 6}, {5, 6}});
  CHECK(found.lost == 0);
  std::fstream(name, std::ios::in | std::ios::out | std::ios::binary).seekp(16 + 24 + 3)
      << 'x';  // damages the second of four entries
  found = recover_keys(directory.name, "sd1");
  CHECK(found.keys[1] == 5);
  CHECK(found.pending == std::map<uint64_t, uint8_t>{{5, 6}});
  CHECK(found.lost == 1);
  CHECK(found.lost_at == 40);
}

TEST_CASE("a journal names the run and the thread of each write, and can be printed") {
  const Directory directory;
  Journal journal(directory.name, "sd1", {.flushes = false});
  journal.begin(BlockKeys(8 * kBlock, kBlock));
  journal.begin_run("a-run-of-twenty-chars", 2);
  REQUIRE(journal.add(Journal::kWrites, {{1, 5}}, 7));
  REQUIRE(journal.add(Journal::kWritten, {{1, 5}}, 7));
  const RecoveredKeys found = recover_keys(directory.name, "sd1");
  CHECK(found.pending.empty());
  CHECK(found.writers[0] == 0);
  CHECK(found.threads.at(found.writers[1]) == "rd=a-run-of-twenty-chars rank=2 thread=7, as the journal says");
  const std::string text = journal_text(directory.name + "/sd1.jnl", {});
  CHECK_THAT(text, contains_text("8 blocks of 4096 bytes, 0 with a known key"));
  CHECK_THAT(text, contains_text("rd=a-run-of-twenty-chars rank=2, begun "));
  CHECK_THAT(text, contains_text("before write   lba=4096 (0x1000) size=4096 key=5 thread=7"));
  CHECK_THAT(journal_text(directory.name + "/sd1.jnl", 0), !contains_text("before write"));
}

TEST_CASE("a journal of files has removed files, and files that may have been removed") {
  const Directory directory;
  BlockKeys keys(8 * kBlock, kBlock);
  keys.set(kBlock, 3);
  Journal journal(directory.name, "fsd1", {.flushes = false, .shape = 77});
  journal.begin(keys);
  REQUIRE(journal.add(Journal::kWrites, {{4, 1}, {5, 1}, {6, 1}}));
  REQUIRE(journal.add(Journal::kWritten, {{4, 1}, {5, 1}}));
  REQUIRE(journal.add(Journal::kRemoves, {{0, 0, 4}}));
  RecoveredKeys found = recover_keys(directory.name, "fsd1");
  CHECK(found.shape == 77);
  CHECK(found.keys == std::vector<uint8_t>{0, 3, 0, 0, 1, 1, 0, 0});
  CHECK(found.removes == std::map<uint64_t, uint64_t>{{0, 4}});
  REQUIRE(journal.add(Journal::kRemoved, {{0, 0, 4}}));
  REQUIRE(journal.add(Journal::kRemoved, {{4, 0, 4}}));
  found = recover_keys(directory.name, "fsd1");
  CHECK(found.keys == std::vector<uint8_t>(8, 0));
  CHECK(found.removes.empty());
  CHECK(found.pending.empty());
}

TEST_CASE("recovery accepts pending writes and removals that are complete or absent, and checks all other data") {
  RecoveredKeys known{.unit = kBlock, .shape = 1, .keys = {1, 1, 1, 1, 2, 2, 0, 0, 3, 3, 3, 3, 4, 4, 4, 4}};
  known.pending = {{1, 2}, {2, 2}, {6, 1}, {7, 1}};
  known.removes = {{8, 4}, {12, 4}};
  MemorySource source(4 * kBlock);
  for (uint64_t block : {0, 1, 3}) source.write(block * kBlock, 1);
  source.write(2 * kBlock, 2);
  for (uint64_t block : {4, 5}) source.write(block * kBlock, 2);
  source.write(6 * kBlock, 1);
  for (uint64_t block = 12; block < 16; ++block) source.write(block * kBlock, 4);
  Recovering recovering(16 * kBlock);
  const RecoveryResult found = recovering.recover(known, source);
  CHECK(recovering.told.empty());
  CHECK(found.pending == 4);
  CHECK(found.done == 2);
  CHECK(found.not_done == 2);
  CHECK(found.removes == 2);
  CHECK(found.removed == 1);
  CHECK(recovering.counts.checked == 11);
  CHECK(recovering.key(1) == 1);
  CHECK(recovering.key(2) == 2);
  CHECK(recovering.key(6) == 1);
  CHECK(recovering.key(8) == BlockKeys::kUnknown);
  CHECK(recovering.key(12) == 4);
}

TEST_CASE("recovery reports missing, short and rolled back files, each once") {
  const RecoveredKeys known{.unit = kBlock, .shape = 1, .keys = {1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}};
  MemorySource source(4 * kBlock);
  for (uint64_t block : {0, 1}) source.write(block * kBlock, 1);
  for (uint64_t block = 8; block < 12; ++block) source.write(block * kBlock, block == 9 ? 2 : 3);
  Recovering recovering(12 * kBlock);
  recovering.recover(known, source);
  REQUIRE(recovering.told.size() == 3);
  CHECK_THAT(recovering.told[0], contains_text("lba=8192 size=4096: lost write, expected 2 written blocks"));
  CHECK_THAT(recovering.told[1], contains_text("lba=16384 size=4096: lost write, expected 4 written blocks"));
  CHECK_THAT(recovering.told[2], contains_text("lba=36864 size=4096: lost write, expected key 3"));
  CHECK(recovering.counts.wrong == 7);
  CHECK(recovering.key(2) == BlockKeys::kBad);
}

TEST_CASE("recovery ends some time after its last error, and at a number of errors") {
  const RecoveredKeys known{.unit = kBlock, .shape = 1, .keys = std::vector<uint8_t>(20, 1)};
  MemorySource source(kBlock);
  for (uint64_t block = 1; block < 20; ++block) source.write(block * kBlock, block == 15 ? 2 : 1);
  source.delay = std::chrono::milliseconds(150);
  Recovering waiting(20 * kBlock, {.most = 1000, .wait = 1});
  waiting.recover(known, source);
  CHECK(waiting.errors.waited());
  CHECK(waiting.told.size() == 1);  // the first block is missing
  CHECK(waiting.counts.checked < 15);
  source.delay = {};
  Recovering counting(20 * kBlock, {.most = 1});
  counting.recover(known, source);
  CHECK(counting.told.size() == 1);
  CHECK(counting.errors.too_many());
  CHECK_FALSE(counting.errors.waited());
}

TEST_CASE("recovery from a journal with lost entries accepts later writes, and reports unknown blocks") {
  RecoveredKeys known{.unit = kBlock, .shape = 1, .began = 1000, .keys = {1, 1, 1, 1, 2, 2, 2, 2}, .lost = 2};
  MemorySource source(4 * kBlock);
  source.write(0, 1);
  source.write(kBlock, 7, 2000);      // written since the journal began
  source.write(2 * kBlock, 126, 10);  // written before that: rolled back
  source.write(3 * kBlock, 7, 2000);  // written in part
  write_sectors(source.files[0].data() + 3 * kBlock, 512, {.offset = 3 * kBlock, .time = 5, .key = 1, .owner = "fsd1"});
  Recovering recovering(8 * kBlock);
  const RecoveryResult found = recovering.recover(known, source);
  CHECK(found.taken == 1);
  CHECK(found.unclear == 1 + 4);  // the second file may have been removed
  REQUIRE(recovering.told.size() == 1);
  CHECK_THAT(recovering.told[0], contains_text("lba=8192 size=4096: lost write"));
  CHECK(recovering.key(1) == 7);
  CHECK(recovering.key(3) == BlockKeys::kUnknown);
}

}  // namespace fsr::vdbench_validate_test
